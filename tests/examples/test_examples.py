"""Every script of examples/ runs as it stands and leaves a finished run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PATIENCE_S

from operant.shared.runs.find_runs import latest_run
from operant.shared.runs.status import read_status
from operant.trainer.experiment.sharing import zoo

FOLDER = Path(__file__).parents[2] / "examples"
# The metric that each must have written, and the arguments that make it short.
EXPECTED = {
    "own_loop": ("loss/parabola", []),
    "stable_baselines3_ppo": ("episode/return", ["512"]),
    "gymnasium_environment": ("loss/policy", ["1024"]),
    "own_environment": ("episode/return", ["1024"]),
    "own_algorithm": ("loss/value", ["2048"]),
}


def run_example(name: str, arguments: list[str], cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested_and_listed():
    names = {path.stem for path in FOLDER.glob("*.py")}
    assert names == {*EXPECTED, "play_a_policy"}
    text = (FOLDER / "README.md").read_text()
    assert all(f"({name}.py)" in text for name in names)


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_leaves_a_finished_run(name, tmp_path):
    metric, arguments = EXPECTED[name]
    run_example(name, arguments, tmp_path)
    status = read_status(latest_run())
    assert status.state == "finished"
    assert status.metrics[metric] == status.metrics[metric]  # written, not NaN


def test_a_trained_policy_plays_in_the_environment_of_another_library(tmp_path):
    policy = str(zoo.FOLDER / "cart_pole")
    assert run_example("play_a_policy", [policy], tmp_path) == "cart_pole: return 500\n"
