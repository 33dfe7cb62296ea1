"""A folder as `operant tinyphysics download` makes it, with a small model and few routes."""

from __future__ import annotations

import pytest
from tinyphysics_files import write_model, write_routes


@pytest.fixture
def challenge(tmp_path, monkeypatch):
    folder = tmp_path / "challenge"
    write_model(folder / "tinyphysics.onnx")
    write_routes(folder / "data", 4, num_rows=130)
    monkeypatch.setenv("OPERANT_TINYPHYSICS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder
