"""The `EnvSpec` of a game: binds the functions and constants that its functions leave open.

Random draws come from a key in the state, because `step` does not get the episode's generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy import float32, int32, int64, uint64

from ...jit.compiling import compiled
from ...jit.streams import four_words, unit
from ...jit.templates import declared, rebound_all
from ...spaces import Box, Discrete
from ..spec import Array, EnvSpec
from . import game_of, rules_of
from .common import DRAW, FIRE, KEY, NOTHING, NUM_CELLS, RAMPING, SIDE, STEP, STICKY
from .section import MOST_STEPS, MinAtarConfig

ALL_ACTIONS = tuple(range(NOTHING, FIRE + 1))
KEY_PARTS, PART_BITS = 4, 16  # float32 holds whole numbers of 24 bits


class Functions(NamedTuple):
    """Functions with the signatures that `EnvSpec` describes."""

    reset: Callable[..., Any]
    step: Callable[..., Any]
    observe: Callable[..., Any]


@declared
def begin_game(state, env):
    """`reset` of a game, after its draws have begun."""


def reset(state, env, random):
    """`EnvSpec.reset`. It keeps the settings and the previous action."""
    begin_draws(state, env, random)
    begin_game(state, env)


def begin_draws(state, env, random):
    """Draw a key for the episode and write it into the state."""
    words = four_words(random, 0)
    key = words[0] << uint64(32) | words[1]
    for part in range(KEY_PARTS):
        state[KEY + part, env] = int64((key >> uint64(PART_BITS * part)) & uint64(0xFFFF))
    state[STEP, env] = 0
    state[DRAW, env] = 0


def draw_real(state, env):
    """`bindings.draw_real`: a function of the key, the step, and the number of the draw in it."""
    key = uint64(0)
    for part in range(KEY_PARTS):
        key |= uint64(state[KEY + part, env]) << uint64(PART_BITS * part)
    draw = state[DRAW, env]
    state[DRAW, env] = draw + float32(1.0)
    return unit(uint64(state[STEP, env]), uint64(draw), uint64(0), key, uint64(0))


def draw_integer(state, env, low, high):
    """`bindings.draw_integer`, from one `draw_real`."""
    return low + int32(draw_real(state, env) * float32(high - low + 1))


def bound_functions(
    game: str,
    has_minimal_actions: bool,
    compile_: Callable[..., Any],
    draw_real: Callable[..., Any] = draw_real,
    draw_integer: Callable[..., Any] = draw_integer,
) -> Functions:
    """The functions of a game with these draws, which `bindings.py` declares.

    `compile_` compiles the functions that they call. If it returns its argument, they stay plain
    Python, and the draws may be any callables.
    """
    rules = rules_of(game)
    actions = rules.MINIMAL_ACTIONS if has_minimal_actions else ALL_ACTIONS
    bound = {
        "num_channels": len(rules.CHANNELS),
        "action_numbers": np.array(actions, np.int32),
        "draw_real": draw_real,
        "draw_integer": draw_integer,
        "begin_game": rules.reset,
    }
    return Functions(*rebound_all((reset, rules.step, rules.observe), compile_, bound))


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
    rules, functions = rules_of(game), bound_functions(game, section.minimal_actions, compiled)
    actions = rules.MINIMAL_ACTIONS if section.minimal_actions else ALL_ACTIONS
    obs_size = NUM_CELLS * len(rules.CHANNELS)
    suffix = "_minimal" if section.minimal_actions else ""
    return MinAtarSpec(
        name=f"{env}{suffix}_{section.max_steps}",
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
