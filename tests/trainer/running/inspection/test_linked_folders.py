"""Traces and episodes are not written through links, and nothing that links lead to is pruned."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from operant.trainer.running.inspection import inspection
from operant.trainer.running.inspection.inspection import EpisodeRecorder
from operant.trainer.running.inspection.tracing import Tracer

FILES = {
    "iteration-000000001.trace.json", "iteration-000000002.trace.json",
    "iteration-000000001.episode.gz", "iteration-000000002.episode.gz",
}  # fmt: skip


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder of a copied run that is a link to files which pruning would delete."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in FILES:
        (elsewhere / name).touch()
    (tmp_path / "linked").symlink_to(elsewhere)
    return tmp_path / "linked"


def test_a_linked_folder_of_traces_is_not_pruned(linked):
    executor: Any = SimpleNamespace(num_started=8, span=None)
    tracer = Tracer(executor, linked)
    tracer.ask()
    executor.num_started += 2  # all is compiled
    tracer.begin()
    assert "is a link, which is not followed" in tracer.finish()
    assert set(os.listdir(linked)) == FILES


def test_a_linked_folder_of_episodes_is_not_pruned(linked, small_config, monkeypatch):
    played = SimpleNamespace(env="x", seed=0, close=lambda: None)
    policy = SimpleNamespace(state_dict=dict, load_state_dict=lambda state: None)
    for name, value in (
        ("make_policy", lambda config: policy),
        ("make_episodes", lambda trained: played),
        ("TrainedPolicy", lambda *parts: None),
        ("write_moments", lambda file, *parts: file.write(b"x")),
    ):
        monkeypatch.setattr(inspection, name, value)
    recorder = EpisodeRecorder(small_config("episodes.every_iterations=1"), linked)
    with pytest.raises(OSError, match="is a link, which is not followed"):
        recorder.record(policy, 9)
    assert set(os.listdir(linked)) == FILES
