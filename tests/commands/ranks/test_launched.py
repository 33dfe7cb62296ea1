"""Training with the ranks of a launch, whose processes are stood in for."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from unittest.mock import MagicMock

from operant.commands.helpers import launching
from operant.commands.ranks import launched


def test_consoles_of_failed_ranks_are_printed_once_the_progress_bar_is_gone(monkeypatch):
    happened = []

    @contextmanager
    def bar():
        yield
        happened.append("the bar is gone")

    others = MagicMock()
    others.show_failures.side_effect = lambda: happened.append("consoles")
    monkeypatch.setattr(launched, "Launched", lambda *_: others)
    monkeypatch.setattr(launching, "run_training", lambda *_, **__: 1)
    ran = launched.train_with_ranks(
        SimpleNamespace(split=""), SimpleNamespace(run=None), MagicMock(), bar()
    )
    assert ran == 1
    assert happened == ["the bar is gone", "consoles"]
