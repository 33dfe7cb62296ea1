"""What is public: `dir(operant)`, the page of reference, and types for a user's script."""

from __future__ import annotations

import os
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
    others = shown - {api_page.NEEDS_TRANSFORMERS}
    assert all(hasattr(operant, name) for name in others)


def test_the_page_of_reference_is_up_to_date():
    assert api_page.PAGE.read_text() == api_page.page(), "make api-page writes it anew"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_users_script_passes_mypy_strict_from_another_folder(tmp_path):
    script, packages = tmp_path / "script.py", tmp_path / "packages"
    script.write_text(SCRIPT)
    packages.mkdir()
    (packages / "operant").symlink_to(api_page.PAGE.parents[1])  # as where it is installed
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(script)], cwd=tmp_path, text=True,
        capture_output=True, env={**os.environ, "MYPYPATH": str(packages)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
