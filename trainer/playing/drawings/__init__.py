"""Drawings of environments: a file of each name with a function `scene`; variants of
an environment share its file, as MinAtar's games do.

    scene(spec, states, selected) -> Scene

`states` [T, state_size] are those of the episode so far, the newest last, in the order that the
environment's file names its fields; `selected` is the agent that people look at. They lie beside
the environments and not in their files: those are compiled anew with each change.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, cast

from numpy.typing import NDArray

from ....shared.episodes.scene import Scene
from ...envs.names import MINATAR_ENV_NAMES

Drawing = Callable[[Any, NDArray[Any], int], Scene]
SHARED = {
    "cart_pole_no_velocity": "cart_pole",
    "mountain_car_continuous": "mountain_car",
    **dict.fromkeys(MINATAR_ENV_NAMES, "minatar"),
}


def load_drawing(env: str) -> Drawing:
    """The function `scene` of one of operant's own environments."""
    return cast(Drawing, importlib.import_module(f".{SHARED.get(env, env)}", __name__).scene)
