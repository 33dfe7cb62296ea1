"""Whether all ranks are alive: each says so in the store, and rank 0 says who no longer does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from ...shared.errors import OperantError
from .own_clock import OwnClock

INTERVAL_S = 0.5
SUSPECT_SILENT_FOR_S = 2.0  # where a connection broke as well
KNOWN_AFTER_S = 2.0  # by all others, once one counts as lost
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
    one line; empty while nobody is. One that is frozen, or gone with its machine, counts as lost
    once it said nothing for `silent_for_s`.

    Rank 0 listens to all, and all listen to rank 0: as many questions as there are ranks.
    """

    def __init__(self, store: Any, rank: int, names: Sequence[str], silent_for_s: float) -> None:
        self._store, self._rank, self._names = store, rank, names
        self.lost = ""
        self._word = ""  # of how this rank fails, or that it ended as it should
        self._count = 0
        self._clock = OwnClock()
        self._heard = {other: ("", self._clock.now()) for other in self._others()}
        self._patience_s = self._silent_for_s = silent_for_s
        self._answered_at = self._clock.now()
        self.exchange: Callable[[Any], object] = lambda _: None  # what else is said and heard
        self._over = threading.Event()
        self._saying = threading.Lock()
        store.set_timeout(timedelta(seconds=silent_for_s))
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
            self._thread.join(self._patience_s)
        self._clock.close()

    def check(self) -> None:
        """Raises RankLostError where a rank is lost."""
        silence = self._clock.now() - self._answered_at
        if not self.lost and silence > self._patience_s + 2 * INTERVAL_S:
            # A store that is frozen answers never, and torch then waits beyond every limit.
            self._lose(
                f"{self._names[0]} is gone: the ranks' store says nothing for {silence:.0f} s"
            )
        if self.lost:
            raise RankLostError(self.lost)

    def who_is_lost(self) -> str:
        """For when something tells that a rank is: who, as soon as that is known; empty where it
        does not become known.
        """
        self._silent_for_s = SUSPECT_SILENT_FOR_S
        deadline = time.monotonic() + self._patience_s + KNOWN_AFTER_S
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
                self._lose(f"{self._names[0]} is gone, and the ranks' store with it")
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
        self._answered_at = now = self._clock.now()
        for other, answer in zip(others, answers, strict=True):
            self._hear(other, answer.decode(), now)

    def _hear(self, other: int, answer: str, now: float) -> None:
        said, name, own_name = json.loads(answer), self._names[other], self._names[self._rank]
        former, heard_at = self._heard[other]
        if said["word"] == ENDED:
            del self._heard[other]
        elif said["lost"] or said["word"]:
            lost = said["lost"] or f"{name} failed: {said['word']}"
            if lost.startswith(f"{own_name} is gone"):
                lost = f"{own_name} was held up: {name} heard nothing of it, and ended"
            self.lost = self.lost or lost
            del self._heard[other]
        elif answer != former:
            self._heard[other] = (answer, now)
        elif now - heard_at > self._silent_for_s:
            self._lose(f"{name} is gone: it has said nothing for {now - heard_at:.0f} s")
            del self._heard[other]
        if self.lost and self._rank == 0:
            self._say()  # at once

    def _lose(self, line: str) -> None:
        """Somebody is gone, as `line` says; or it was this process that the others missed."""
        held_up_s = self._clock.held_up_s
        if held_up_s >= min(self._patience_s, self._silent_for_s):  # else nobody has missed it
            line = f"{self._names[self._rank]} was held up for {held_up_s:.0f} s, and others ended"
        self.lost = self.lost or line
