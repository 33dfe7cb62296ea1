"""What the README promises to list."""

from __future__ import annotations

from pathlib import Path

import pytest

from operant.trainer.config.files import preset_names

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_named(preset):
    assert f"`{preset}`" in README
