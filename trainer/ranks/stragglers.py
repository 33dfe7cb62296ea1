"""Which ranks still collect while most are done, by the rule of DD-PPO (Wijmans et al. 2020)."""

from __future__ import annotations

import threading
from typing import Any

LOOK_EVERY_S = 0.01
# So much of all ranks has to be done, and of its own rollout a rank that then stops.
ENOUGH_PERCENT = 60
LEAST_FRACTION = 0.25


def num_enough(world_size: int) -> int:
    """How many of the ranks have to be done."""
    return -(-world_size * ENOUGH_PERCENT // 100)


class Stragglers:
    """A thread that asks in `store`, which nobody else may use, how many of `world_size` ranks have
    collected a rollout. All ranks begin and end as many.
    """

    def __init__(self, store: Any, world_size: int) -> None:
        self._store, self._num_enough = store, num_enough(world_size)
        self._number, self._told = 0, 0
        self._condition = threading.Condition()
        self._is_closed = False
        self.enough_are_done = False
        self._thread = threading.Thread(target=self._work, name="stragglers", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """A rollout begins here."""
        with self._condition:
            self._number += 1
            self.enough_are_done = False
            self._condition.notify()

    def end(self) -> None:
        """This rank has its rollout."""
        with self._condition:
            self._told = self._number
            self._condition.notify()

    def close(self) -> None:
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        self._thread.join()

    def _work(self) -> None:
        number = told = 0
        while not self._is_closed:
            with self._condition:
                if self._told == told and self._number == number:
                    # Between rollouts nothing has to be asked.
                    self._condition.wait(LOOK_EVERY_S if self._number > self._told else None)
                number, newly_told = self._number, self._told
            try:
                if newly_told > told:
                    told = newly_told
                    self._store.add(_key(told), 1)
                    self._store.delete_key(_key(told - 2))  # all are past it
                if number > told:
                    count = self._store.add(_key(number), 0)
                    self.enough_are_done = self._number == number and count >= self._num_enough
            except RuntimeError:
                return  # the store is gone; the watch says so


def _key(number: int) -> str:
    return f"collected/{number}"
