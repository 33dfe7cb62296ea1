"""The output of `make train` while it installs."""

from __future__ import annotations

import sys

import installing
import pytest

LINES = """\
WARNING: Location 'file:///wheels/click/' is ignored: it is neither a file nor a directory.
Requirement already satisfied: six in ./lib
Collecting click>=8.2 (from operant-rl==0.2.0)
  Downloading click-8.5.1-py3-none-any.whl (126 kB)
Processing /wheels/pygments-2.21.0-py3-none-any.whl (from rich)
WARNING: Retrying after connection broken
Installing collected packages: pygments, click
"""


def test_each_package_has_a_line_and_only_warnings_worth_knowing_are_shown(tmp_path, capsys):
    progress = installing.Installing(tmp_path)
    for line in LINES.splitlines():
        progress.read(line)
    info = tmp_path / "pygments-2.21.0.dist-info"
    info.mkdir()
    progress.tick()  # pip has unpacked it, and still compiles it
    before = capsys.readouterr().out
    assert "installing click" not in before
    (info / "INSTALLER").write_text("pip\n")
    progress.tick()
    progress.end(0)
    out = before + capsys.readouterr().out
    said = [line.partition("s  ")[2] or line for line in out.splitlines()]
    assert said == [
        "downloading click-8.5.1 (126 kB)",
        "processing pygments-2.21.0",
        "WARNING: Retrying after connection broken",
        "installing 2 packages",
        "installing click, 2 of 2",
        "2 packages installed",
    ]


def test_a_failure_ends_with_what_pip_said_and_its_exit_code(capfd):
    pytest.importorskip("pip")
    assert installing.main(sys.executable, "--no-index", "no-such-package") != 0
    assert "No matching distribution found for no-such-package" in capfd.readouterr().err
