"""These tests need emulated GPUs: `make gpu-rehearsal` runs them, `make test` skips them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gpu_runs
import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and not gpu_runs.is_emulated():
            item.add_marker(pytest.mark.skip(reason="no emulated GPU; make gpu-rehearsal has one"))


@pytest.fixture(autouse=True)
def _every_kernel_is_emulated() -> Iterator[None]:
    """A kernel that is launched for real would leave its results unwritten."""
    yield
    assert gpu_runs.take_launches() == 0
