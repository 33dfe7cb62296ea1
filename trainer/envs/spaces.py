"""What a policy makes of Gymnasium's spaces; without PyTorch, for processes that do without."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...shared.errors import ConfigError
from .spec import ActionSpec, Box, Discrete, MultiDiscrete


def import_gymnasium() -> Any:
    """The library. Raises ConfigError when it is not installed."""
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise ConfigError(
            "gymnasium is not installed: pip install 'operant-rl[gymnasium]'"
        ) from None
    return gymnasium


def action_spec(gymnasium: Any, name: str, space: Any) -> ActionSpec:
    """Raises ConfigError for actions that no policy of ours gives."""
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return MultiDiscrete(tuple(int(n) for n in space.nvec))
    is_real = isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating)
    if is_real and space.is_bounded() and len(space.shape) == 1:
        return Box(tuple(map(float, space.low)), tuple(map(float, space.high)))
    raise ConfigError(
        f"env = '{name}': actions are {space}; they may be Discrete, a row of "
        "MultiDiscrete, or a bounded row of Box of floating-point numbers"
    )


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return str(error).strip().partition("\n")[0]
