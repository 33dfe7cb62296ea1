"""Whether all ranks are alive: each says so in the store, and rank 0 says who no longer does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ...shared.errors import OperantError

INTERVAL_S = 0.5
SILENT_FOR_S = 5.0  # of a rank that is frozen, or gone with its machine
KNOWN_WITHIN_S = SILENT_FOR_S + 3.0  # by all others
ENDED = "ended"


class RankLostError(OperantError):
    """Another rank is gone, and none can go on without it."""


class Watch:
    """A thread that says in `store`, which nobody else may use, that rank `rank` is alive, and asks
    there whether the others, by their `names`, still are. What becomes of it is `lost`: who is, in
    one line; empty while nobody is.

    Rank 0 listens to all, and all listen to rank 0: that takes as many questions as there are ranks.
    """

    def __init__(self, store: Any, rank: int, names: Sequence[str]) -> None:
        self._store, self._rank, self._names = store, rank, names
        self.lost = ""
        self._word = ""  # of how this rank fails, or that it ended as it should
        self._count = 0
        self._heard = {other: ("", time.monotonic()) for other in self._others()}
        self._over = threading.Event()
        self._saying = threading.Lock()
        store.set_timeout(timedelta(seconds=SILENT_FOR_S))
        self._say()
        self._thread = threading.Thread(target=self._watch, name="ranks", daemon=True)
        self._thread.start()

    def _others(self) -> list[int]:
        return [0] if self._rank else list(range(1, len(self._names)))

    def say(self, word: str) -> None:
        """Tell the others that this rank `ENDED`, or in one line how it failed."""
        self._word = word
        self._say()

    def close(self) -> None:
        """Listen no more."""
        self._over.set()
        self._thread.join(SILENT_FOR_S)

    def check(self) -> None:
        """Raises RankLostError where a rank is lost."""
        if self.lost:
            raise RankLostError(self.lost)

    def who_is_lost(self) -> str:
        """For when something tells that a rank is: who, as soon as that is known; empty where it
        does not become known.
        """
        deadline = time.monotonic() + KNOWN_WITHIN_S
        while not self.lost and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.lost

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            try:
                self._say()
                self._listen()
            except RuntimeError:
                if not self._over.is_set():
                    self.lost = (
                        self.lost or f"{self._names[0]} is gone, and the ranks' store with it"
                    )
                return

    def _say(self) -> None:
        with self._saying:
            self._count += 1
            said = {"count": self._count, "word": self._word, "lost": self.lost}
            try:
                self._store.set(f"alive/{self._rank}", json.dumps(said))
            except RuntimeError:
                if not self._word:
                    raise

    def _listen(self) -> None:
        now = time.monotonic()
        if not self._heard:
            return
        others = list(self._heard)
        answers = self._store.multi_get([f"alive/{other}" for other in others])
        for other, answer in zip(others, answers, strict=True):
            self._hear(other, answer.decode(), now)

    def _hear(self, other: int, answer: str, now: float) -> None:
        said, name = json.loads(answer), self._names[other]
        former, heard_at = self._heard[other]
        if said["word"] == ENDED:
            del self._heard[other]
        elif said["lost"] or said["word"]:
            self.lost = self.lost or said["lost"] or f"{name} failed: {said['word']}"
        elif answer != former:
            self._heard[other] = (answer, now)
        elif now - heard_at > SILENT_FOR_S:
            self.lost = self.lost or f"{name} is gone: it has said nothing for {SILENT_FOR_S:.0f} s"
        if self.lost and self._rank == 0:
            self._say()  # at once
