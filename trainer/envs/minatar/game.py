"""Binds the functions and constants that a game's functions leave open."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...jit.compiling import compiled
from ...jit.templates import declared, rebound
from ..names import MINATAR_PREFIX
from .common import FIRE, NOTHING
from .draws import begin_draws, draw_integer, draw_real

ALL_ACTIONS = tuple(range(NOTHING, FIRE + 1))


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


def rules_of(game: str) -> Any:
    """The module of a game."""
    return importlib.import_module(f".{game}", __package__)


def game_of(env: str) -> str:
    return env.removeprefix(MINATAR_PREFIX)


def has_ramping(env: str) -> bool:
    """Whether a game becomes harder during an episode."""
    return bool(rules_of(game_of(env)).HAS_RAMPING)


@cache
def functions_of(game: str, has_minimal_actions: bool) -> Functions:
    """The scalar functions of a game, which call compiled functions."""
    return bound_functions(game, has_minimal_actions, compiled)


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
    made: dict[Any, Any] = {}
    functions = reset, rules.step, rules.observe
    return Functions(*(rebound(function, compile_, bound, made) for function in functions))
