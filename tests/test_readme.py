"""What the README promises to list, and where the documents lead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from operant.trainer.config.files import preset_names

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "examples/README.md"]


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_named(preset):
    assert f"`{preset}`" in README


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_within_leads_somewhere(document):
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, heading = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        if heading:
            assert heading in headings(target), link


def headings(document: Path) -> set[str]:
    """As links name them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
