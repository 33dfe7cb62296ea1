"""What is public: `dir(operant)`, the page of reference, and types for a user's script."""

from __future__ import annotations

import subprocess
import sys

import api_page
import pytest

import operant

SCRIPT = """
from __future__ import annotations

import operant
from operant import Callback, LiveRun


class StopEarly(Callback):
    def on_evaluation(self, run: LiveRun) -> None:
        if run.metrics["evaluation/return"] > 400:
            run.stop("good enough")


run: operant.Run = operant.train(
    "cart_pole", algorithm="ppo", callbacks=[StopEarly(), operant.SaveBest("loss/value")], seed=1
)
policy = operant.load(run, checkpoint="best")
actions = policy.act([0.0, 0.0, 0.0, 0.0])
mean: float = float(operant.evaluate(policy, episodes=10).mean())
frame = operant.history(run)
names: list[str] = [each.id for each in operant.runs()]
state: str = run.status().state
operant.push(run, "folder")
pulled: operant.Run = operant.pull("folder", name="pulled")
operant.show(pulled)
"""


def test_dir_shows_what_is_public_and_nothing_else():
    shown = {name for name in dir(operant) if not name.startswith("__")}
    assert shown == {*operant.__all__}
    assert all(hasattr(operant, name) for name in shown)


def test_the_page_of_reference_is_up_to_date():
    assert api_page.PAGE.read_text() == api_page.page(), "make api-page writes it anew"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_users_script_passes_mypy_strict_from_another_folder(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run([*command, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
