"""`benchmarks/first_contact.py` records what fails, dies or takes too long, and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import first_contact
import gpu_bars
import pytest
from waiting import wait_for

SCRIPT = Path(first_contact.__file__)


@pytest.fixture
def contact(tmp_path):
    """A `Contact` of 100 seconds, with its own tests."""
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-q'\n")
    return first_contact.Contact(tmp_path / "out", 100, root=tmp_path)


def recorded(folder):
    return json.loads((folder / "first_contact.json").read_text())


def test_all_of_it_on_a_machine_without_a_gpu(tmp_path):
    test = "tests/test_architecture.py::test_shared_needs_little"
    command = [sys.executable, SCRIPT, tmp_path / "out", "--dry", "--tests", test]
    command += ["--only", "raw_few_envs", "no_such_figure"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "errors in figures" in done.stdout
    found = recorded(tmp_path / "out")
    assert found["versions"]["packages"]["numba"]
    assert found["fit"]["ptx_version"]
    assert found["tests"]["counts"] == {"passed": 1}
    figures = found["figures"]
    assert figures["error"] == "in no_such_figure"
    for side in figures["raw_few_envs"]["result"]["results"]:
        assert side["env_steps_per_s"]["median"] > 0
    assert figures["no_such_figure"]["error"].startswith("KeyError")


@pytest.mark.slow
def test_tests_after_one_that_dies_are_run(contact, tmp_path):
    (tmp_path / "test_these.py").write_text(
        "import os, sys\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2, 'one is not two'\n"
        "def test_spoilt(): assert not any('test_bad' in x for x in os.environ['RAN'].split())\n"
        "def test_dies(): os._exit(3)\n"
        "def test_after(): pass\n"
        "def setup_function(function):\n"
        "    os.environ['RAN'] = f\"{os.environ.get('RAN', '')} {function.__name__}\"\n"
    )
    answer = first_contact.run_tests(contact, ["test_these.py"])
    assert answer["counts"] == {"passed": 3, "failed": 1, "died": 1}
    assert answer["error"] == "2 failed"
    why = {name.split("::")[1]: text for name, text in answer["failed"].items()}
    assert "one is not two" in why["test_bad"]
    assert why["test_dies"].startswith("exit code 3")
    assert recorded(contact.folder)["tests"]["outcomes"].keys() == answer["outcomes"].keys()


@pytest.mark.slow
def test_a_figure_that_takes_too_long_or_comes_too_late_is_recorded(contact, monkeypatch):
    monkeypatch.setattr(first_contact.Contact.run, "__defaults__", (0.1,))
    answer = first_contact.measure(contact, ["raw_few_envs"], ["--dry"])
    assert answer["raw_few_envs"]["error"].startswith("stopped after 0 s, its limit")
    contact.deadline = 0.0
    answer = first_contact.measure(contact, ["raw_few_envs"], ["--dry"])
    assert answer["raw_few_envs"]["error"] == "not begun: the time was over"


@pytest.mark.slow
def test_a_process_and_all_that_it_started_end_with_its_limit(contact, tmp_path):
    pid = tmp_path / "pid"
    script = (
        "import subprocess, pathlib\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(pid)!r}).write_text(str(child.pid))\n"
        "child.wait()\n"
    )
    assert contact.run("waits", ["-c", script], limit_s=3).code is None

    def is_over():  # a moment after it was killed
        try:
            return Path("/proc", pid.read_text(), "stat").read_text().rpartition(")")[2][1] == "Z"
        except OSError:
            return True

    wait_for(is_over)


def test_the_largest_costs_of_an_iteration():
    spans = [("gemm", 0.0, 4.0), ("adam", 3.0, 5.0), ("gemm", 11.0, 17.0)]
    found = gpu_bars.costs(spans, iterations=2)
    # gemm 4 + 6, adam 2 of which 1 beside gemm; nothing ran from 5 to 11
    assert found["largest"] == [
        {"name": "gemm", "us": 5.0, "times": 1.0},
        {"name": "gaps", "us": 3.0, "times": 0.5},
        {"name": "adam", "us": 1.0, "times": 0.5},
    ]
    assert found["iteration_us"] == 8.5
    assert found["launches"] == 1.5
