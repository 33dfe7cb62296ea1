"""The arrays that a block of environments reads and writes; it gets them once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...spaces import ActionSpec, Box, Discrete

Array = NDArray[Any]


class Arrays(NamedTuple):
    """Arrays of E environments with A agents each, R = E x A rows: those of environment e are the
    rows e A to e A + A - 1.

    `actions` are read: [R] or [R, choices] int64, [R, action_size] float32 where they are a `Box`.
    All else is written: `obs` [R, D] float32 or uint8, what the policy sees next, after a reset
    where an episode ended; `reward` [R] float32; `terminated` and `truncated` [R] bool; `final_obs`
    [R, D] of that type, the last observation of rows whose episode ended, untouched elsewhere;
    `valid` [R] bool, False where an agent had left before the step.
    """

    actions: Array
    obs: Array
    reward: Array
    terminated: Array
    truncated: Array
    final_obs: Array
    valid: Array


GAME = "game"  # of infos: the game's own reward, and whether the game is over


class Games(NamedTuple):
    """The step of E games as they are, where learning has other rewards or episodes: `reward` [E]
    float64 and `is_over` [E] bool.
    """

    reward: Array
    is_over: Array

    @classmethod
    def of(cls, num_envs: int) -> Games:
        return cls(np.zeros(num_envs), np.zeros(num_envs, np.bool_))


NOTICE_BYTES = 2048


class Counters(NamedTuple):
    """Counters of a block: `totals` [3] float64, episodes that ended with the sums of their
    returns and lengths, until they are taken; `current` [1] int64, the environment that is being
    stepped, or -1 where they all are at once; `notices` [NOTICE_BYTES] uint8, lines that people
    should read.
    """

    totals: Array
    current: Array
    notices: Array = np.zeros(0, np.uint8)

    def notice(self, line: str) -> None:
        """Add a line, once, if there is room for it."""
        written = self.notices.tobytes().rstrip(b"\0")
        added = line.encode(errors="replace") + b"\n"
        end = len(written) + len(added)
        if added not in written and end <= len(self.notices):
            self.notices[len(written) : end] = np.frombuffer(added, np.uint8)


def action_dtype(actions: ActionSpec) -> np.dtype[Any]:
    return np.dtype(np.float32 if isinstance(actions, Box) else np.int64)


def action_shape(actions: ActionSpec) -> tuple[int, ...]:
    """The shape of one action."""
    if isinstance(actions, Discrete):
        return ()
    return (actions.action_size,) if isinstance(actions, Box) else (len(actions.nvec),)
