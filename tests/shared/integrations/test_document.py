"""Every snippet of docs/your-own-loop.md runs as it stands and leaves a finished run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.status import read_status

DOCUMENT = Path(__file__).parents[3] / "docs" / "your-own-loop.md"
SNIPPETS = {
    section.partition("\n")[0]: code
    for section in DOCUMENT.read_text().split("\n## ")[1:]
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
}
# What the run of each section must have: a metric, env steps, the last part of its name.
EXPECTED = {
    "A plain loop": ("loss/train", 99, "falling"),
    "As wandb": ("accuracy", None, "my-project"),
    "As TensorBoard": ("accuracy/test", 99, "my-experiment"),
    "TensorBoard's own writer": ("loss/train", 99, "synced"),
    "Stable-Baselines3": ("episode/return", 256, "sb3-cart-pole"),
    "Lightning": ("loss/train", 23, "line"),
}


def test_every_snippet_is_tested():
    assert SNIPPETS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("section", EXPECTED)
def test_a_snippet_runs_as_it_stands(section, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SNIPPETS[section])
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert "operant: warning" not in done.stderr
    (run,) = list_runs()
    metric, env_steps, name = EXPECTED[section]
    status = read_status(run)
    assert (status.state, status.message) == ("finished", "")
    assert status.metrics[metric] == status.metrics[metric]  # written, not NaN
    assert status.env_steps == env_steps
    assert run.manifest()["name"] == name
    assert name in run.id
