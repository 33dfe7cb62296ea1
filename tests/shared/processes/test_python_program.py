"""In a frozen program, starting "Python" would start that program again: there is no recorder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import python

from operant.shared.processes.python_program import python_program
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.recorder_process import SWITCH

PROGRAM = """
import os, sys
open(os.environ["STARTS"], "a").write("started\\n")
{pretend}
import operant
with operant.init(name="frozen") as run:
    run.log({{"loss": 1.0}})
"""
PRETENCES = {
    "PyInstaller": "sys.frozen = True",
    "PyOxidizer": "sys.oxidized = True",
    "Nuitka": "__compiled__ = object()",
    "embedded": "sys.executable = sys.argv[0]",
    "no name": "sys.executable = None",
}


@pytest.mark.parametrize("pretence", PRETENCES)
def test_a_frozen_program_is_started_once_and_told_once_that_nobody_records_it(
    pretence, tmp_path, monkeypatch
):
    monkeypatch.delenv(SWITCH)
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    program = tmp_path / "my-program"
    program.write_text(f"#!{sys.executable}\n" + PROGRAM.format(pretend=PRETENCES[pretence]))
    program.chmod(0o700)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "starts").read_text() == "started\n"
    assert done.stderr.count("no recorder") == 1
    (run,) = list_runs()
    assert not run.recorder_log_path.exists()


@pytest.mark.parametrize(
    "name", ["python", "python3", "python3.11", "Python", "pypy3", "python3.13t", "pythonw.exe"]
)
def test_pythons_are_known_by_their_names(name, monkeypatch):
    monkeypatch.setattr(sys, "executable", f"/usr/bin/{name}")
    assert python_program() == f"/usr/bin/{name}"


@pytest.mark.parametrize("name", ["trainer", "uwsgi", "my-python-app", "pythonic", "blender"])
def test_other_programs_are_none(name, monkeypatch):
    monkeypatch.setattr(sys, "executable", f"/usr/bin/{name}")
    assert python_program() is None


def test_what_is_started_as_a_recorder_starts_none_itself(tmp_path, monkeypatch):
    """Should a program be called like Python after all, it is started twice and not for ever."""
    monkeypatch.delenv(SWITCH)
    monkeypatch.setenv("STARTS", str(tmp_path / "starts"))
    starts = tmp_path / "python3"
    starts.write_text(f'#!/bin/sh\necho "$OPERANT_RECORDER" > {tmp_path}/switch.new\n'
                      f"mv {tmp_path}/switch.new {tmp_path}/switch\n")  # fmt: skip
    starts.chmod(0o700)
    code = f"import sys, operant; sys.executable = {str(starts)!r}; operant.init().finish()"
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    from waiting import wait_for

    wait_for((tmp_path / "switch").exists)
    assert (tmp_path / "switch").read_text() == "off\n"


def test_a_log_that_is_a_fifo_holds_nobody_up(tmp_path: Path, monkeypatch):
    from operant.shared.runs.recorder_process import RecorderSettings, start_recorder
    from operant.shared.runs.run_folder import create_run

    monkeypatch.delenv(SWITCH)
    run, lock = create_run("test", {})
    os.mkfifo(run.recorder_log_path)
    warnings: list[str] = []
    start_recorder(run, RecorderSettings(), warnings.append)
    assert warnings == []
    lock.release()
    shutil.rmtree(run.folder)
