"""Commands whose output is not taken, or whose folder is gone, end in one line at most."""

from __future__ import annotations

import subprocess
import sys

import pytest

from operant.shared.runs.find_runs import list_runs

OPERANT = (sys.executable, "-m", "operant")
COMMANDS = ("runs", "runs --json", "--help", "train --help-config", "completion bash", "")


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def in_a_shell(request, monkeypatch):
    """Run a command line where `$@` is operant."""
    monkeypatch.setenv("PYTHONUNBUFFERED", request.param)

    def run(line):
        return subprocess.run(
            ["bash", "-c", line, *OPERANT[:1], *OPERANT], capture_output=True, text=True
        )

    return run


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line(in_a_shell, command):
    done = in_a_shell(f'"$@" {command} > /dev/full')
    assert done.stderr == "operant: cannot write the output: No space left on device\n"
    assert done.returncode == 1
    assert in_a_shell(f'"$@" {command} > /dev/full 2>&1').returncode == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_said_where_nobody_reads(in_a_shell, command):
    done = in_a_shell(f'"$@" {command} | true; exit ${{PIPESTATUS[0]}}')
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(in_a_shell, command, closed):
    done = in_a_shell(f'"$@" {command} {closed}')
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "command", ["train", "eval x", "play x", "export x --to csv", "sweep", "bench envs"]
)
def test_a_deleted_working_directory_is_one_line(in_a_shell, tmp_path, command):
    (tmp_path / "gone").mkdir()
    done = in_a_shell(f'cd "{tmp_path}/gone" && rmdir "$PWD" && "$@" {command}')
    assert done.stderr.splitlines() == [
        "operant: the working directory was deleted: cd to another folder first"
    ]
    assert done.returncode == 2
    assert list_runs() == []


@pytest.mark.parametrize("command", ["runs", "runs --json", "train --help"])
def test_what_needs_no_folder_works_in_a_deleted_one(in_a_shell, tmp_path, command):
    (tmp_path / "gone").mkdir()
    done = in_a_shell(f'cd "{tmp_path}/gone" && rmdir "$PWD" && "$@" {command}')
    assert (done.stderr, done.returncode) == ("", 0)
