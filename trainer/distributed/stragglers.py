"""Detects that most ranks have finished their rollouts, by the rule of DD-PPO (Wijmans et al.
2020).
"""

from __future__ import annotations

import threading
from typing import Any

CHECK_EVERY_S = 0.01
ENOUGH_PERCENT = 60  # percentage of ranks that must have finished their rollouts
LEAST_FRACTION = 0.25  # fraction of its rollout that a rank must have before it stops


def num_enough(world_size: int) -> int:
    """The number of ranks that must have finished their rollouts."""
    return -(-world_size * ENOUGH_PERCENT // 100)


class Stragglers:
    """A thread that counts in `store`, which only it may use, how many of `world_size` ranks have
    finished their rollouts. All ranks begin and end the same number of rollouts.
    """

    def __init__(self, store: Any, world_size: int) -> None:
        self._store, self._num_enough = store, num_enough(world_size)
        self._num_begun, self._num_ended = 0, 0
        self._condition = threading.Condition()
        self._is_closed = False
        self.enough_are_done = False
        self._thread = threading.Thread(target=self._work, name="stragglers", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Call when this rank begins a rollout."""
        with self._condition:
            self._num_begun += 1
            self.enough_are_done = False
            self._condition.notify()

    def end(self) -> None:
        """This rank has its rollout."""
        with self._condition:
            self._num_ended = self._num_begun
            self._condition.notify()

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        self._thread.join()

    def _work(self) -> None:
        begun = ended = 0
        while not self._is_closed:
            with self._condition:
                if self._num_ended == ended and self._num_begun == begun:
                    # Between rollouts there is nothing to read.
                    is_collecting = self._num_begun > self._num_ended
                    self._condition.wait(CHECK_EVERY_S if is_collecting else None)
                begun, newly_ended = self._num_begun, self._num_ended
            try:
                if newly_ended > ended:
                    ended = newly_ended
                    self._store.add(_key(ended), 1)
                    self._store.delete_key(_key(ended - 2))  # no rank reads it any more
                if begun > ended:
                    count = self._store.add(_key(begun), 0)
                    self.enough_are_done = self._num_begun == begun and count >= self._num_enough
            except RuntimeError:
                return  # the store is gone; the watch reports that


def _key(number: int) -> str:
    return f"collected/{number}"
