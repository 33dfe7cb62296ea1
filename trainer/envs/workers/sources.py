"""From an environment's name in a configuration to what makes it, here and in workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .gymnasium_batch import GymnasiumSource
from .native_batch import NativeSource
from .pettingzoo_batch import PettingZooSource

if TYPE_CHECKING:
    from ..mettagrid.source import MettaGridSource

Source: TypeAlias = "GymnasiumSource | PettingZooSource | NativeSource | MettaGridSource"


def source_of(env: str) -> Source:
    """Looks at one copy of the environment. Raises ConfigError where it cannot be trained on."""
    kind, _, name = env.partition(":")
    if kind == "pettingzoo":
        return PettingZooSource.of(name)
    if kind == "native":
        return NativeSource.of(name)
    return GymnasiumSource.of(name)
