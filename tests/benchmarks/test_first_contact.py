"""`benchmarks/first_contact.py` goes on after what fails, dies or outlasts its limit, and tells."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import carried_wheels
import contact_tests
import first_contact
import gpu_bars
import gpu_machine
import lasting
import pytest
from ended import Ended, run_within
from waiting import wait_for

SCRIPT = Path(first_contact.__file__)


@pytest.fixture
def contact(tmp_path, monkeypatch):
    """A call of 100 seconds, with tests of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", str(tmp_path)))
    made = first_contact.Contact("tests", tmp_path / "out", 100, rehearse=True)
    made.root = tmp_path
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '-q'\n")
    return made


def recorded(contact):
    return json.loads(contact.path.read_text())["parts"]


def test_a_rehearsal_measures_and_records_what_fails_and_what_outlasts_its_limit(tmp_path):
    command = [sys.executable, str(SCRIPT), "--call", "benchmarks", "--rehearse"]
    command += ["--out", str(tmp_path), "--carried", str(tmp_path), "--only", "raw_few_envs"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    parts = json.loads((tmp_path / "benchmarks.json").read_text())["parts"]
    assert list(parts) == ["install", "machine", "fit", "benchmarks"]
    assert parts["machine"]["packages"]["numba"]
    assert parts["benchmarks"]["error"] == "in fails, outlasts"
    figures = parts["benchmarks"]["parts"]
    for side in figures["raw_few_envs"]["result"]["results"]:
        assert side["env_steps_per_s"]["median"] > 0
    assert figures["fails"]["error"].startswith("ZeroDivisionError")
    assert figures["outlasts"]["error"] == "outlasts outlasted its limit of 3 s"


def test_tests_after_one_that_dies_are_run_and_all_are_told(contact, tmp_path):
    (tmp_path / "test_these.py").write_text(
        "import os\n"
        "def test_good(): pass\n"
        "def test_bad(): assert 1 == 2, 'one is not two'\n"
        "def test_dies(): os._exit(3)\n"
        "def test_after(): pass\n"
    )
    contact.part("tests", lambda: contact_tests.run_tests(contact, ["test_these.py"]))
    answer = recorded(contact)["tests"]
    assert answer["counts"] == {"passed": 2, "failed": 1, "died": 1}
    assert answer["error"] == "1 died, 1 failed"
    tests = {name.split("::")[1]: test for name, test in answer["tests"].items()}
    assert "one is not two" in tests["test_bad"]["why"]
    assert tests["test_dies"]["why"].startswith("exit code 3")
    assert tests["test_after"]["outcome"] == "passed"


def test_a_process_that_outlasts_its_limit_takes_one_test_with_it():
    told = '{"id": "a", "outcome": "began"}\n{"id": "a", "outcome": "passed", "seconds": 1}\n'
    told += '{"id": "b", "outcome": "began"}\n'
    outcomes = contact_tests.outcomes_of(told, ["a", "b", "c"], Ended(None, 150.0, "line"))
    assert {name: test["outcome"] for name, test in outcomes.items()} == {
        "a": "passed", "b": "over its time",
    }  # fmt: skip


def test_a_part_that_fails_is_recorded_and_one_after_the_time_is_not_begun(contact):
    contact.part("bad", lambda: {"never": 1 / 0})
    contact.deadline = 0.0
    contact.part("late", lambda: {"never": 1})
    parts = recorded(contact)
    assert parts["bad"]["error"].startswith("ZeroDivisionError")
    assert "1 / 0" in "\n".join(parts["bad"]["traceback"])
    assert parts["late"]["error"] == "not begun: the call's time was over"


def test_a_process_and_all_that_it_started_end_with_its_limit(tmp_path):
    pid = tmp_path / "pid"
    script = (
        "import subprocess, pathlib\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(pid)!r}).write_text(str(child.pid))\n"
        "print('waits', flush=True)\n"
        "child.wait()\n"
    )
    command = [sys.executable, "-c", script]
    ended = run_within(60, command, os.environ, tmp_path / "log", lambda: not pid.exists())
    assert ended.code is None

    def is_over():  # a moment after it was killed
        try:
            return Path("/proc", pid.read_text(), "stat").read_text().rpartition(")")[2][1] == "Z"
        except OSError:
            return True

    wait_for(is_over)


def test_the_first_library_whose_code_runs_is_taken(contact, monkeypatch, tmp_path):
    toolkit = tmp_path / "cuda-13.0"
    for folder in ("nvvm/lib64", "nvvm/libdevice"):
        (toolkit / folder).mkdir(parents=True)
    library = toolkit / "nvvm/lib64/libnvvm.so.4"
    library.touch()
    monkeypatch.setattr(contact, "_libraries", lambda: [Path("/broken.so"), library])
    answers = {
        "": {"assembled": {"absent": "Unsupported .version 9.5"}, "ran": None},
        "/broken.so": {"assembled": 9, "ran": False},
        str(library): {"assembled": 9, "ran": True, "nvvm": "this"},
    }
    monkeypatch.setattr(contact, "asked", lambda *_, env: answers[env["FIRST_CONTACT_NVVM"]])
    assert contact.fit()["chosen"] == "this"
    assert contact.env["FIRST_CONTACT_NVVM"] == str(library)
    assert contact.env["CUDA_HOME"] == str(toolkit)


@pytest.mark.parametrize(
    ("ptx", "cuda"),
    [("8.0", (12, 0)), ("8.5", (12, 5)), ("8.6", (12, 7)), ("8.8", (12, 9)), ("9.0", (13, 0)),
     ("9.5", (13, 5))],
)  # fmt: skip
def test_the_cuda_that_takes_a_version_of_ptx(ptx, cuda):
    assert gpu_machine.cuda_of_ptx(ptx) == cuda


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


def test_an_error_that_lasts_is_told_from_one_that_does_not():
    assert lasting.is_lasting("CUDA error: an illegal memory access was encountered")
    assert not lasting.is_lasting("CUDA_ERROR_OUT_OF_MEMORY")
    assert not lasting.is_lasting("AssertionError: 1 == 2")


def test_a_wheel_without_what_nobody_calls(tmp_path):
    wheel = tmp_path / "nvidia_nvvm-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("nvidia/lib.so", "library")
        file.writestr("nvidia/bin/cicc", "compiler")
        file.writestr("nvvm-1.dist-info/RECORD", "nvidia/lib.so,,\nnvidia/bin/cicc,,\n")
    carried_wheels.leave_out(wheel, "nvidia/bin/")
    with zipfile.ZipFile(wheel) as file:
        assert file.namelist() == ["nvidia/lib.so", "nvvm-1.dist-info/RECORD"]
        assert file.read("nvvm-1.dist-info/RECORD") == b"nvidia/lib.so,,\n"


def test_every_carried_package_has_one_version():
    assert all("==" in package for package in carried_wheels.pinned(carried_wheels.PACKAGES))


def test_each_figure_that_is_asked_for_is_one_of_the_benchmark():
    from contact_benchmarks import BARS, REPLAY
    from gpu_parts import Gpu

    assert sorted(BARS + REPLAY) == sorted(Gpu(dry=True).parts())
