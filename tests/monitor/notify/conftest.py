"""Recorders that send messages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from recorded import kill_recorder, recorder_pid

from operant.shared.runs.find_runs import list_runs


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs are recorded, and no recorder outlives the test."""
    monkeypatch.setenv("OPERANT_RECORDER", "on")
    yield
    for run in list_runs():
        if recorder_pid(run):
            kill_recorder(run)
