"""Makes the `EnvSpec` of a game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ...spaces import Box, Discrete
from ..spec import Array, EnvSpec
from .common import NUM_CELLS, RAMPING, SIDE, STICKY
from .game import ALL_ACTIONS, functions_of, game_of, rules_of
from .section import MOST_STEPS, MinAtarConfig


@dataclass(frozen=True, kw_only=True)
class MinAtarSpec(EnvSpec):
    """An `EnvSpec` with the name of its game."""

    game: str


@cache
def make_spec(env: str, section: MinAtarConfig | None = None) -> MinAtarSpec:
    """The spec of the game that `env` names, with the settings of the table `[minatar]`, by default
    with its defaults.

    Observations are the 10 x 10 cells row by row, with the channels of a cell side by side, a byte
    each: 0 or 1.
    """
    section = MinAtarConfig() if section is None else section
    game = game_of(env)
    rules, functions = rules_of(game), functions_of(game, section.minimal_actions)
    actions = rules.MINIMAL_ACTIONS if section.minimal_actions else ALL_ACTIONS
    obs_size = NUM_CELLS * len(rules.CHANNELS)
    kind = "_minimal" if section.minimal_actions else ""
    return MinAtarSpec(
        name=f"{env}{kind}_{section.max_steps}",
        state_size=rules.STATE_SIZE,
        obs_size=obs_size,
        actions=Discrete(len(actions)),
        max_episode_steps=section.max_steps or MOST_STEPS,
        observations=Box((0.0,) * obs_size, (1.0,) * obs_size),
        obs_type=np.uint8,
        obs_shape=(SIDE, SIDE, len(rules.CHANNELS)),
        obs_range=(0.0, 1.0),
        reset=functions.reset,
        step=functions.step,
        observe=functions.observe,
        prepare=settings_writer(section),
        game=game,
    )


def settings_writer(section: MinAtarConfig) -> Callable[[Array, int, int], None]:
    """`EnvSpec.prepare`: it writes the settings that are not compiled into the state."""

    def write_settings(state: Array, num_envs: int, stream: int) -> None:
        state[STICKY] = section.sticky_actions
        state[RAMPING] = section.ramping

    return write_settings
