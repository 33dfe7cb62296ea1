"""Detects lost ranks: each rank writes signs of life to the store, and rank 0 reports a missing
one.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ...shared.errors import OperantError

INTERVAL_S = 0.5
SILENT_FOR_S = 7.0  # silence after which a rank is lost
SUSPECT_SILENT_FOR_S = 2.0  # silence after which a rank is lost, if a connection broke too
KNOWN_AFTER_S = 2.0  # all ranks know of a lost rank within this time
READ_WITHIN_S = 2.0
ENDED = "ended"


TICK_S = 0.1
MAX_TICK_S = 0.5
RECENTLY_S = 15.0


class ProcessClock:
    """Counts seconds in which this process could run. It leaves out a paused machine, a frozen
    container, ctrl-z, and waiting for a core: a thread ticks, and a late tick counts as
    `MAX_TICK_S`.
    """

    def __init__(self) -> None:
        self._ticked = (0.0, time.monotonic())  # seconds, and when they were counted
        self._held_up = (0.0, 0.0)  # the seconds of the last pause, and when it was
        self._is_over = threading.Event()
        threading.Thread(target=self._tick, name="process clock", daemon=True).start()

    def now(self) -> float:
        seconds, at = self._ticked
        return seconds + min(time.monotonic() - at, MAX_TICK_S)

    @property
    def held_up_s(self) -> float:
        """For how long this process was paused recently; 0 if it was not."""
        seconds, at = self._held_up
        return seconds if self.now() - at < RECENTLY_S else 0.0

    def close(self) -> None:
        self._is_over.set()

    def _tick(self) -> None:
        while not self._is_over.wait(TICK_S):
            at = time.monotonic()
            late_s = at - self._ticked[1] - MAX_TICK_S
            self._ticked = (self.now(), at)
            if late_s > MAX_TICK_S:
                self._held_up = (late_s, self._ticked[0])


class RankLostError(OperantError):
    """Another rank is lost, and the run cannot continue without it."""


def sign_of_life(
    count: int = 0, word: str = "", lost: str = "", timing: tuple[float, float] | None = None
) -> str:
    """The sign of life that a rank writes every `INTERVAL_S`."""
    return json.dumps({"count": count, "word": word, "lost": lost, "timing": timing})


def say_alive(store: Any, rank: int) -> None:
    """Write the first sign before other ranks know of this one: reading a missing key would block
    without naming the rank.
    """
    store.set(f"alive/{rank}", sign_of_life())


class Watch:
    """A thread that writes signs of life of `rank` to `store`, which only it may use, and reads
    those of the others. `lost` names the lost rank in one line, by `names`; it is empty while all
    live. A frozen rank, or one whose machine is gone, counts as lost after `SILENT_FOR_S`.

    Rank 0 reads the signs of all ranks, and all read those of rank 0. They carry the `timing` of
    their rank, which `timings` has by the number of the rank.
    """

    def __init__(self, store: Any, rank: int, names: Sequence[str]) -> None:
        self._store, self._rank, self._names = store, rank, names
        self.lost = ""
        self._word = ""  # why this rank failed, or `ENDED`
        self._count = 0
        self._clock = ProcessClock()
        self._heard = {other: ("", self._clock.now()) for other in self._others()}
        self._patience_s = self._silent_for_s = SILENT_FOR_S
        self._answered_at = self._clock.now()
        self.timing: tuple[float, float] | None = None  # seconds at work and waiting
        self.timings: dict[int, tuple[float, float]] = {}
        self._over = threading.Event()
        self._saying = threading.Lock()
        store.set_timeout(timedelta(seconds=SILENT_FOR_S))
        self._say()
        self._thread = threading.Thread(target=self._watch, name="ranks", daemon=True)
        self._thread.start()

    def _others(self) -> list[int]:
        return [0] if self._rank else list(range(1, len(self._names)))

    def say(self, word: str) -> None:
        """Tell the others that this rank `ENDED`, or how it failed, in one line."""
        self._word = word
        self._say()

    def wait_until_read(self) -> None:
        """Wait a moment until the others have read the error: then they write no more signs."""
        deadline = time.monotonic() + READ_WITHIN_S
        while self._heard and self._thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> None:
        """Stop the thread."""
        self._over.set()
        if not self.lost:
            self._thread.join(self._patience_s)
        self._clock.close()

    def check(self) -> None:
        """Raises RankLostError if a rank is lost."""
        silence = self._clock.now() - self._answered_at
        if not self.lost and silence > self._patience_s + 2 * INTERVAL_S:
            # A frozen store never answers, and torch ignores time limits then.
            self._lose(
                f"{self._names[0]} is gone: the ranks' store says nothing for {silence:.0f} s"
            )
        if self.lost:
            raise RankLostError(self.lost)

    def who_is_lost(self) -> str:
        """The lost rank, after an error of the connection, as soon as it is known; empty if it does
        not become known.
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
            except RuntimeError:
                self._lose(f"{self._names[0]} is gone, and the ranks' store with it")
                return

    def _say(self) -> None:
        with self._saying:
            self._count += 1
            said = sign_of_life(self._count, self._word, self.lost, self.timing)
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
        if said["timing"]:
            self.timings[other] = tuple(said["timing"])
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
        """Report a lost rank with `line`, unless this process was paused itself."""
        held_up_s = self._clock.held_up_s
        if held_up_s >= min(
            self._patience_s, self._silent_for_s
        ):  # otherwise no rank has noticed the pause
            line = f"{self._names[self._rank]} was held up for {held_up_s:.0f} s, and others ended"
        self.lost = self.lost or line
