"""What a rank tells of itself for pages on other machines: its newest numbers, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...shared.session import RunSession

Phase = tuple[str, int | None, int | None, str]


class Word(NamedTuple):
    """The newest of every number that was published so far, in `num_publishes`; `num_signs` counts
    signs of life.
    """

    num_publishes: int = 0
    num_signs: int = 0
    values: Mapping[str, float] = {}
    iteration: int = -1
    env_steps: int = -1
    phase: Phase | None = None

    def encode(self) -> str:
        return json.dumps(self)

    @classmethod
    def decode(cls, line: bytes) -> Word:
        """Raises ValueError where the line is none of these."""
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, list) or len(said) != len(cls._fields):
            raise ValueError("no word of a rank")
        *numbers, phase = said
        if not isinstance(phase, list | None):
            raise ValueError("no word of a rank")
        return cls(*numbers)._replace(phase=tuple(phase) if phase else None)


class Told:
    """Takes what its rank publishes. `word` is always whole: another thread reads it."""

    def __init__(self) -> None:
        self.word = Word()

    def publish(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        self.word = self.word._replace(
            num_publishes=self.word.num_publishes + 1,
            num_signs=self.word.num_signs + 1,
            values={**self.word.values, **values},
            iteration=iteration,
            env_steps=env_steps,
        )

    def phase(self, *phase: Any) -> None:
        """Name, and how far it is, as in `OnPhase`."""
        self.word = self.word._replace(phase=phase, num_signs=self.word.num_signs + 1)

    def beat(self) -> None:
        self.word = self.word._replace(num_signs=self.word.num_signs + 1)


class Mirror:
    """The page of a rank that is elsewhere, which shows what that tells."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self._shown = Word()

    def show(self, word: Word) -> None:
        """What changed since the last word: a row, a phase, a sign of life."""
        before, self._shown = self._shown, word
        metrics = self.session.metrics
        if word.phase and word.phase != before.phase:
            metrics.phase(*word.phase)
        if word.num_publishes != before.num_publishes:
            # What stayed the same was most likely not published again, as an evaluation's return.
            changed = {n: v for n, v in word.values.items() if before.values.get(n) != v}
            metrics.publish(changed, word.iteration, word.env_steps)
        elif word.num_signs != before.num_signs:
            metrics.beat()
