"""`make gpu-rehearsal` says in one line where a CUDA build of PyTorch cannot be had."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from types import SimpleNamespace

import gpu_rehearsal
import pytest

NO_TORCH = f"""\
ERROR: Could not find a version that satisfies the requirement {gpu_rehearsal.TORCH} (from versions: 2.13.0)
ERROR: No matching distribution found for {gpu_rehearsal.TORCH}
"""  # noqa: E501
NO_ROOM = "ERROR: Could not install packages: [Errno 28] No space left on device\n"
OTHERS = {
    "another package is missing": "ERROR: No matching distribution found for numba-cuda>=0.20\n",
    "another PyTorch is missing": "ERROR: No matching distribution found for torch==2.14.10\n",
    "versions conflict": "ERROR: ResolutionImpossible: torch==2.14.1\n",
    "nothing was said": "",
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the rehearsal is for Linux")


@pytest.fixture
def pip(monkeypatch, tmp_path):
    """A pip that fails with these lines, in an empty cache folder, on a disk with much room."""
    errors = []

    def run(command, **options):
        assert command[1:4] == ["-m", "pip", "install"], "the tests are not run"
        return subprocess.CompletedProcess(command, 1, stderr=errors[0])

    monkeypatch.setenv("OPERANT_GPU_REHEARSAL", str(tmp_path / "cache"))
    monkeypatch.setattr(venv, "create", lambda folder, **_: folder.mkdir(parents=True))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))
    return errors


@pytest.mark.parametrize("said", [NO_TORCH, NO_ROOM], ids=["not in the registry", "full disk"])
def test_one_line_says_why_pytorch_cannot_be_installed(pip, said, capsys, tmp_path):
    pip.append(said)
    assert gpu_rehearsal.main(["--short"]) == gpu_rehearsal.CANNOT_BE_INSTALLED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gpu-rehearsal: nothing was run: ")
    assert gpu_rehearsal.TORCH in line
    assert not (tmp_path / "cache/venv").exists()


def test_nothing_is_fetched_where_the_disk_is_too_small(pip, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=3 * 10**9))
    assert gpu_rehearsal.main(["--short"]) == gpu_rehearsal.CANNOT_BE_INSTALLED
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("gpu-rehearsal: nothing was run: ")
    assert line.endswith("which has 3.0 GB")


@pytest.mark.parametrize("cause", OTHERS)
def test_every_other_failure_to_install_shows_what_pip_says(pip, cause, capsys):
    pip.append(OTHERS[cause])
    assert gpu_rehearsal.main(["--short"]) == 1
    err = capsys.readouterr().err
    assert "nothing was run" not in err
    assert OTHERS[cause] in err
