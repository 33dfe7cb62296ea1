"""Machine code on disk is named after all the sources that went into it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from operant.trainer import compiling


@pytest.fixture
def trainer(tmp_path, monkeypatch):
    """A copy of the trainer's sources, whose digest `sources_digest` gives."""
    copy = tmp_path / "trainer"
    original = Path(compiling.__file__).parent
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(compiling, "__file__", str(copy / "compiling.py"))
    return copy


def digest() -> str:
    return compiling.sources_digest.__wrapped__()


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("algorithms/flat_adam.py", "BETA_1, BETA_2 = 0.9, 0.999"),
        ("compiling.py", '"error_model": "numpy"'),
        ("distributions/gaussian.py", "MAX_LOG_STD"),
        ("compiled/networks.py", "CHUNK = 64"),
    ],
)
def test_another_constant_is_another_name(trainer, name, constant):
    before = digest()
    path = trainer / name
    text = path.read_text()
    assert constant in text
    path.write_text(text.replace(constant, f"{constant} ", 1))
    assert digest() != before
    path.write_text(text)
    assert digest() == before


def test_every_module_that_compiled_ones_import_counts(trainer):
    names = {str(path.relative_to(trainer)) for path in compiling.sources(trainer)}
    assert {
        "algorithms/flat_adam.py",
        "compiling.py",
        "algorithms/ppo.py",
        "algorithms/schedules.py",  # which that imports
        "run/threads.py",
    } <= names
    assert "loop.py" not in names
