"""`operant train --nodes`: ranks on machines that are this one, through an ssh that is real and
through one that only looks so.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from command_line import PATIENCE_S, error_line, operant_process
from launched_ranks import FOR_EVER, SMALL, has_trained, rank_pids, the_run, training
from waiting import wait_for

from operant.shared.runs.status import read_status
from operant.trainer.distributed.meeting import versions

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
HERE_AND_THERE = ("--nodes", "me@127.0.0.1,localhost")


def children_named(process: subprocess.Popen[str], name: str) -> list[psutil.Process]:
    """The programs that a command has started over ssh, by what they are called in `/proc`."""
    return [
        child
        for child in psutil.Process(process.pid).children()
        if name in " ".join(child.cmdline()) and "record" not in child.cmdline()
    ]


@pytest.mark.parametrize("ssh", ["real"], indirect=True)
def test_machines_learn_as_one_and_the_run_stays_here(ssh, operant_home):
    done = operant_process("train", *SMALL, "--set", "total_env_steps=384", *HERE_AND_THERE,
                   "--split", "1:2")  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = the_run()
    assert read_status(run).state == "finished"
    assert "operant: rank" not in run.console_path(1).read_text()
    assert not rank_pids()


@pytest.mark.parametrize("ssh", ["real"], indirect=True)
@pytest.mark.parametrize("victim", ["the command", "ssh", "the far rank"])
def test_a_kill_of_any_part_leaves_nothing_running_on_any_machine(ssh, victim):
    with training(*SMALL, *FOR_EVER, *HERE_AND_THERE) as process:
        wait_for(lambda: has_trained(the_run()))
        (far,) = rank_pids()
        (own_ssh,) = children_named(process, "ssh")
        pid = {"the command": process.pid, "ssh": own_ssh.pid, "the far rank": far}[victim]
        os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
        wait_for(lambda: not rank_pids())
        wait_for(lambda: not own_ssh.is_running())
    if victim == "the command":
        assert read_status(the_run()).state == "crashed"
        return
    assert process.returncode == 1
    status = read_status(the_run())
    assert status.state == "failed"
    assert f"process {far}) is gone" in status.message
    assert status.message in errors.splitlines()


@pytest.fixture
def far(tmp_path, monkeypatch):
    """Let ssh be a shell script, whatever it is asked for."""

    def set_script(*lines: str) -> None:
        script = tmp_path / "far"
        script.write_text("\n".join(["#!/bin/sh", *lines]))
        script.chmod(0o700)
        monkeypatch.setenv("OPERANT_SSH", str(script))

    monkeypatch.delenv("OPERANT_REMOTE", raising=False)
    return set_script


def answering(**answer: object) -> list[str]:
    """Lines of a script that answers what is asked, with what a chatty shell says before it."""
    told = shlex.quote("operant-rank " + json.dumps(answer))
    return ["read -r asked", "echo Last login: never", f"printf '%s\\n' {told}"]


def refused(operant_home: Path, *nodes: str, code: int = 2) -> str:
    """The line that a run is refused with, of which nothing is left."""
    line = error_line("train", *SMALL, "--nodes", ",".join(["localhost", *nodes]), code=code)
    assert not list(operant_home.rglob("run.toml"))
    assert not rank_pids()
    return line


def test_a_machine_with_another_version_is_named(far, operant_home):
    far(*answering(versions={**versions(), "torch": "2.12.0"}))
    line = refused(operant_home, "mini")
    assert f"mini has torch 2.12.0, and this machine has {versions()['torch']}" in line


def test_another_checkout_of_the_same_version_is_told_apart(far, tmp_path, operant_home):
    copy = tmp_path / "there" / "operant"
    for side in ("commands", "configs", "monitor", "shared", "trainer"):
        shutil.copytree(ROOT / side, copy / side, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("*.py"):
        shutil.copy(file, copy)
    with (copy / "trainer" / "loop.py").open("a") as file:
        file.write("# A change.\n")
    far(f"cd {copy.parent}", f"PYTHONPATH= exec {sys.executable} -m operant rank")
    line = refused(operant_home, "mini")
    assert "mini has operant's source files" in line


def test_a_machine_that_lacks_a_file_says_which(far, operant_home):
    far(*answering(versions=versions(), lacks="no model at /data/model.onnx"))
    assert "mini: no model at /data/model.onnx" in refused(operant_home, "mini")


def test_a_firewall_is_noticed_before_anything_is_started(far, operant_home):
    far(*answering(versions=versions(), lacks="", heard={"10.0.0.1": "another"}))
    line = refused(operant_home, "mini", code=1)
    assert "mini cannot reach this machine at" in line
    assert "firewall" in line


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("echo 'me@mini: Permission denied (publickey,password).' >&2; exit 255", 1,
         "cannot reach mini: me@mini: Permission denied (publickey,password); `ssh mini` must"),
        ("echo 'sh: 1: operant: not found' >&2; exit 127", 2, "mini has no operant where its"),
        ("echo hello; exit 0", 1, "mini: operant there ended with exit code 0"),
        ("echo 'operant-rank 7' ; echo 'operant-rank {\"versions\": 7}'", 2, "mini has no operant"),
    ],
)  # fmt: skip
def test_a_machine_that_cannot_be_asked_is_one_line(far, operant_home, script, code, told):
    far(script)
    assert told in refused(operant_home, "mini", code=code)


def test_a_machine_that_asks_for_a_password_is_never_asked(far, operant_home):
    far('case " $* " in *" BatchMode=yes "*) echo no questions >&2;; esac; exit 255')
    assert "cannot reach mini: no questions" in refused(operant_home, "mini", code=1)


def test_no_ssh_is_one_line(monkeypatch, operant_home):
    monkeypatch.setenv("OPERANT_SSH", "no-such-ssh")
    assert "cannot run no-such-ssh: No such file" in refused(operant_home, "mini")


def test_ctrl_c_while_a_machine_is_asked_leaves_nothing(far, tmp_path, operant_home):
    asked = tmp_path / "asked"
    far(f"echo $$ > {asked}.part && mv {asked}.part {asked}", "exec sleep 1000")
    with training(*SMALL, "--nodes", "localhost,mini") as process:
        wait_for(asked.exists)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert errors.strip() == ""
    assert not psutil.pid_exists(int(asked.read_text()))
    assert not list(operant_home.rglob("run.toml"))
