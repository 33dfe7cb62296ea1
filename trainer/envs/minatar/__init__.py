"""MinAtar's games, by the rules in docs/minatar-rules.md.

The file of a game has `reset`, `step` and `observe`, and the names of its channels with the roles
that drawings show; `common.py` has what all games share. All random draws are calls of `draw_real`
and `draw_integer` of `bindings.py`. `game.py` binds them to those of `draws.py`; tests bind others,
such as recorded draws.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..names import MINATAR_PREFIX


def rules_of(game: str) -> Any:
    """The module of a game."""
    return importlib.import_module(f".{game}", __name__)


def game_of(env: str) -> str:
    return env.removeprefix(MINATAR_PREFIX)


def has_ramping(env: str) -> bool:
    """Whether a game becomes harder during an episode."""
    return bool(rules_of(game_of(env)).HAS_RAMPING)
