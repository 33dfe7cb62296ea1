"""Whether all ranks are alive: each says so in the store, and rank 0 says who no longer does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ...shared.errors import OperantError

INTERVAL_S = 0.5
SILENT_FOR_S = 5.0  # of a rank that is frozen, or gone with its machine
SUSPECT_SILENT_FOR_S = 2.0  # where a connection broke as well
KNOWN_WITHIN_S = SILENT_FOR_S + 2.0  # by all others
TOLD_WITHIN_S = 2.0
ENDED = "ended"


class RankLostError(OperantError):
    """Another rank is gone, and none can go on without it."""


def sign_of_life(count: int = 0, word: str = "", lost: str = "") -> str:
    """What a rank says every `INTERVAL_S`."""
    return json.dumps({"count": count, "word": word, "lost": lost})


def say_alive(store: Any, rank: int) -> None:
    """The first sign, before others know of this rank and listen: they would wait for it, and not
    know whom they miss.
    """
    store.set(f"alive/{rank}", sign_of_life())


class Watch:
    """A thread that says in `store`, which nobody else may use, that rank `rank` is alive, and asks
    there whether the others, by their `names`, still are. What becomes of it is `lost`: who is, in
    one line; empty while nobody is.

    Rank 0 listens to all, and all listen to rank 0: as many questions as there are ranks.
    """

    def __init__(self, store: Any, rank: int, names: Sequence[str]) -> None:
        self._store, self._rank, self._names = store, rank, names
        self.lost = ""
        self._word = ""  # of how this rank fails, or that it ended as it should
        self._count = 0
        self._heard = {other: ("", time.monotonic()) for other in self._others()}
        self._silent_for_s, self._answered_at = SILENT_FOR_S, time.monotonic()
        self.exchange: Callable[[Any], object] = lambda _: None  # what else is said and heard
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

    def wait_until_told(self) -> None:
        """Wait a moment for the others to have read what is wrong: until they say no more."""
        deadline = time.monotonic() + TOLD_WITHIN_S
        while self._heard and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> None:
        """Listen no more."""
        self._over.set()
        if not self.lost:
            self._thread.join(SILENT_FOR_S)

    def check(self) -> None:
        """Raises RankLostError where a rank is lost."""
        silence = time.monotonic() - self._answered_at
        if not self.lost and silence > SILENT_FOR_S + 2 * INTERVAL_S:
            # A store that is frozen answers never, and torch then waits beyond every limit.
            self.lost = (
                f"{self._names[0]} is gone: the ranks' store says nothing for {silence:.0f} s"
            )
        if self.lost:
            raise RankLostError(self.lost)

    def who_is_lost(self) -> str:
        """For when something tells that a rank is: who, as soon as that is known; empty where it
        does not become known.
        """
        self._silent_for_s = SUSPECT_SILENT_FOR_S
        deadline = time.monotonic() + KNOWN_WITHIN_S
        while time.monotonic() < deadline:
            try:
                self.check()
            except RankLostError as error:
                return str(error)
            time.sleep(0.02)
        return ""

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            try:
                self._say()
                self._listen()
                self.exchange(self._store)
            except RuntimeError:
                self.lost = self.lost or f"{self._names[0]} is gone, and the ranks' store with it"
                return

    def _say(self) -> None:
        with self._saying:
            self._count += 1
            said = sign_of_life(self._count, self._word, self.lost)
            try:
                self._store.set(f"alive/{self._rank}", said)
            except RuntimeError:
                if not self._word:
                    raise

    def _listen(self) -> None:
        others = list(self._heard)
        answers = self._store.multi_get([f"alive/{other}" for other in others]) if others else []
        self._answered_at = now = time.monotonic()
        for other, answer in zip(others, answers, strict=True):
            self._hear(other, answer.decode(), now)

    def _hear(self, other: int, answer: str, now: float) -> None:
        said, name = json.loads(answer), self._names[other]
        former, heard_at = self._heard[other]
        if said["word"] == ENDED:
            del self._heard[other]
        elif said["lost"] or said["word"]:
            self.lost = self.lost or said["lost"] or f"{name} failed: {said['word']}"
            del self._heard[other]
        elif answer != former:
            self._heard[other] = (answer, now)
        elif now - heard_at > self._silent_for_s:
            silence = f"it has said nothing for {now - heard_at:.0f} s"
            self.lost = self.lost or f"{name} is gone: {silence}"
            del self._heard[other]
        if self.lost and self._rank == 0:
            self._say()  # at once
