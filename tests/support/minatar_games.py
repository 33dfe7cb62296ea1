"""MinAtar's games in plain Python, with draws that a test puts in.

`PutIn` is the seam: a game asks it for every draw, in the order of docs/minatar-rules.md ("All
random draws"), and it gives what the test put in, as the draws that another implementation made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from operant.trainer.envs.minatar import rules_of
from operant.trainer.envs.minatar.common import RAMPING, SIDE, STICKY
from operant.trainer.envs.minatar.game import bound_functions

NOT_STICKY = 0.999
RANDOM = (np.int64(0), np.int64(0), np.uint64(1), np.uint64(0))


class PutIn:
    """Draws in the order that they are asked for; `asked` are ("real",) and ("integer", low, high)
    since they were put in.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self.asked: list[tuple[Any, ...]] = []

    def put(self, *values: float) -> None:
        self.values, self.asked = list(values), []

    def real(self, state: Any, env: int) -> float:
        self.asked.append(("real",))
        value = self.values.pop(0)
        assert 0 <= value < 1
        return value

    def integer(self, state: Any, env: int, low: int, high: int) -> int:
        self.asked.append(("integer", int(low), int(high)))
        value = self.values.pop(0)
        assert low <= value <= high
        return int(value)


class OneGame:
    """One environment of a game, without sticky actions unless a step says otherwise.

    It goes on after an end: nothing in its state tells that there was one.
    """

    def __init__(self, game: str, *draws: float, is_ramping: bool = True, minimal: bool = False):
        self.rules, self.draws = rules_of(game), PutIn()
        functions = bound_functions(
            game, minimal, lambda function: function, self.draws.real, self.draws.integer
        )
        self._reset, self._step, self._observe = functions
        self.state = np.zeros((self.rules.STATE_SIZE, 1), np.float32)
        self.state[STICKY], self.state[RAMPING] = 0.1, is_ramping
        self.reset(*draws)

    def reset(self, *draws: float) -> None:
        """Begin an episode; makes these draws and no others."""
        self.draws.put(*draws)
        self._reset(self.state, 0, RANDOM)
        assert not self.draws.values

    def step(self, action: int, *draws: float, sticky: float = NOT_STICKY) -> tuple[int, bool]:
        """One step, which makes the sticky draw, then these and no others. Returns (reward,
        terminated).
        """
        self.draws.put(sticky, *draws)
        reward, terminated = self._step(self.state, 0, action)
        assert not self.draws.values
        return int(reward), bool(terminated)

    def steps(self, action: int, count: int) -> list[tuple[int, bool]]:
        """Several steps without draws of the game."""
        return [self.step(action) for _ in range(count)]

    @property
    def obs(self) -> Any:
        """[10, 10, channels] of bool."""
        channels = len(self.rules.CHANNELS)
        obs = np.full((1, SIDE * SIDE * channels), 255, np.uint8)
        self._observe(self.state, 0, obs)
        assert np.isin(obs, (0, 1)).all()
        return obs.reshape(SIDE, SIDE, channels) == 1

    def cells(self, channel: str) -> list[tuple[int, int]]:
        """Rows and columns of what a channel shows, in the order of reading."""
        number = list(self.rules.CHANNELS).index(channel)
        return [(int(row), int(column)) for row, column in np.argwhere(self.obs[..., number])]

    def __getitem__(self, field: str) -> int:
        return int(self.state[getattr(self.rules, field), 0])

    def __setitem__(self, field: str, value: float) -> None:
        self.state[getattr(self.rules, field), 0] = value


def sea_thing(row, column, goes_right, move_timer=0, shot_timer=0):
    """An entry of Seaquest's lists."""
    return column + 16 * row + 256 * goes_right + 512 * move_timer + 4096 * shot_timer


def put_things(game, name, *things):
    """Make `things` all that a list of Seaquest holds, the oldest first."""
    first = getattr(game.rules, name)
    game.state[first : first + 1 + len(things), 0] = (len(things), *things)
