"""From an environment's name in a configuration to what makes it, here and in workers."""

from __future__ import annotations

from .gymnasium_batch import GymnasiumSource
from .native_batch import NativeSource
from .pettingzoo_batch import PettingZooSource

Source = GymnasiumSource | PettingZooSource | NativeSource


def source_of(env: str) -> Source:
    """Looks at one copy of the environment. Raises ConfigError where it cannot be trained on."""
    kind, _, name = env.partition(":")
    if kind == "pettingzoo":
        return PettingZooSource.of(name)
    if kind == "native":
        return NativeSource.of(name)
    return GymnasiumSource.of(name)
