"""The Python of docs/python.md runs, in its order, as one script."""

from __future__ import annotations

import re
from pathlib import Path

from command_line import python

ROOT = Path(__file__).parents[2]
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_snippets_of_the_page_run_one_after_the_other(tmp_path):
    snippets = SNIPPET.findall((ROOT / "docs" / "python.md").read_text())
    assert len(snippets) >= 5
    script = tmp_path / "snippets.py"
    script.write_text("\n".join(snippets))
    done = python(str(script))
    assert done.returncode == 0, done.stderr


def test_what_the_page_shows_takes_five_lines_at_most():
    for snippet in SNIPPET.findall((ROOT / "docs" / "python.md").read_text()):
        assert len(snippet.split("import gymnasium, operant\n")[-1].strip().splitlines()) <= 5
