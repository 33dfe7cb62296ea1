"""The Python of docs/python.md and docs/coming-from.md runs, in its order, as one script each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def snippets(page):
    return SNIPPET.findall((ROOT / "docs" / page).read_text())


@pytest.mark.parametrize("page", ["python.md", "coming-from.md"])
def test_the_snippets_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    found = snippets(page)
    assert len(found) >= 3
    script = tmp_path / "snippets.py"
    code = "\n".join(found)
    script.write_text(re.sub(r"total_env_steps=[\d_]+_000\b", "total_env_steps=2_048", code))
    monkeypatch.chdir(tmp_path)
    done = python(str(script))
    assert done.returncode == 0, done.stderr


def test_what_the_page_shows_takes_five_lines_at_most_but_for_an_algorithm():
    for snippet in snippets("python.md"):
        lines = snippet.split("import gymnasium, operant\n")[-1].strip().splitlines()
        assert len(lines) <= 5 or "check_algorithm" in snippet
