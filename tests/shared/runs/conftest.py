from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of somebody's that a run has links to."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis").write_text("all of it")
    return folder
