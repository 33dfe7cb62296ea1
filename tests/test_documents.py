"""Documents lead to files that are there, and every folder says what lives in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SIDES = ("commands", "configs", "monitor", "shared", "trainer")
FOLDERS = (*SIDES, "benchmarks", "docs", "examples", "tests")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = [path for side in SIDES for path in sorted((ROOT / side).rglob("*.py"))]
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]
# In `text`: paths from the root, as `trainer/loop.py`; NAME and <name> are anyone's.
PATHS = re.compile(rf"\b((?:{'|'.join(FOLDERS)})/[\w./<>-]*\w)")


def paths_in(text: str) -> Iterator[str]:
    for quoted in re.findall(r"`([^`\n]+)`", text):
        yield from (path for path in PATHS.findall(quoted) if not re.search("NAME|<", path))


def test_every_path_that_is_named_is_there():
    gone = [
        f"{document.relative_to(ROOT)} names {path}"
        for document in (*DOCUMENTS, *SOURCES)
        for path in paths_in(document.read_text())
        if not (ROOT / path).exists()
    ]
    assert gone == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document):
    for target, _, heading in re.findall(r"\]\(([^)#\s:]*)(#([^)\s]+))?\)", document.read_text()):
        place = document.parent / target if target else document
        assert place.exists(), target
        if heading:
            assert heading in anchors(place), f"{target}#{heading}"


def anchors(document: Path) -> set[str]:
    """Headings as links name them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_folder_says_what_lives_there():
    silent = [path for path in PACKAGES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == []


def test_every_room_of_the_trainer_is_told_of():
    told = (ROOT / "docs" / "trainer.md").read_text()
    rooms = [path.parent.name + "/" for path in (ROOT / "trainer").glob("*/__init__.py")]
    files = [path.name for path in (ROOT / "trainer").glob("*.py") if path.name != "__init__.py"]
    assert [room for room in (*rooms, *files) if f"`{room}`" not in told] == []


def test_every_room_of_the_monitor_is_told_of():
    told = (ROOT / "docs" / "changing.md").read_text()
    rooms = [path.parent.name for path in (ROOT / "monitor").glob("*/__init__.py")]
    assert [room for room in rooms if f"`monitor/{room}/`" not in told] == []
