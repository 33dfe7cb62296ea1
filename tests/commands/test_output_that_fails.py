"""Commands whose output is not taken, or whose folder is gone, end in one line at most."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_line import error_line, operant

from operant.shared.runs.find_runs import list_runs

OPERANT = (sys.executable, "-m", "operant")
COMMANDS = ("runs --json", "train --keys")


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


def test_a_full_disk_that_takes_no_error_either_is_an_exit_code(in_a_shell):
    assert in_a_shell('"$@" runs > /dev/full 2>&1').returncode == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_said_where_nobody_reads(in_a_shell, command):
    done = in_a_shell(f'"$@" {command} | true; exit ${{PIPESTATUS[0]}}')
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(in_a_shell, closed):
    done = in_a_shell(f'"$@" runs {closed}')
    assert (done.stderr, done.returncode) == ("", 0)


DELETED = "operant: the working directory was deleted: cd to another folder first\n"


def test_a_process_in_a_deleted_working_directory_is_one_line(in_a_shell, tmp_path):
    (tmp_path / "gone").mkdir()
    done = in_a_shell(f'cd "{tmp_path}/gone" && rmdir "$PWD" && "$@" train')
    assert (done.stderr, done.returncode) == (DELETED, 2)


@pytest.fixture
def deleted_folder(tmp_path, monkeypatch):
    """The working directory is a folder that was deleted."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()


@pytest.mark.usefixtures("deleted_folder")
@pytest.mark.parametrize(
    "command", ["train", "eval x", "play x", "export x -o a.csv", "sweep", "bench"]
)
def test_a_deleted_working_directory_is_one_line(command):
    assert error_line(*command.split()) == DELETED
    assert list_runs() == []


@pytest.mark.usefixtures("deleted_folder")
@pytest.mark.parametrize("command", ["runs", "runs --json", "train --help"])
def test_what_needs_no_folder_works_in_a_deleted_one(command):
    done = operant(*command.split())
    assert (done.stderr, done.returncode) == ("", 0)
