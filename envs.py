"""operant's environments in the shapes of other libraries, the action spaces that batched
environments of your own declare, and scenarios of `marine_nav`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .trainer.envs.as_gymnasium import GymnasiumVectorEnv
    from .trainer.envs.as_torchrl import TorchRLEnv
    from .trainer.envs.hosts import load_spec
    from .trainer.envs.marine_nav.scenario import (
        Scenario,
        load_scenario,
        read_scenarios,
        write_scenarios,
    )
    from .trainer.spaces import Box, Discrete, MultiDiscrete

__all__ = [
    "Box", "Discrete", "GymnasiumVectorEnv", "MultiDiscrete", "Scenario", "TorchRLEnv",
    "load_scenario", "load_spec", "read_scenarios", "write_scenarios",
]  # fmt: skip

# Modules by name, each imported at its first use: few have TorchRL.
_HOMES = {
    "GymnasiumVectorEnv": "envs.as_gymnasium",
    "TorchRLEnv": "envs.as_torchrl",
    "load_spec": "envs.hosts",
    **dict.fromkeys(("Box", "Discrete", "MultiDiscrete"), "spaces"),
    **dict.fromkeys(
        ("Scenario", "load_scenario", "read_scenarios", "write_scenarios"),
        "envs.marine_nav.scenario",
    ),
}


def _attribute(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f".trainer.{_HOMES[name]}", __package__), name)
    raise AttributeError(f"operant.envs has no '{name}'")


if not TYPE_CHECKING:  # which finds misspelt names then
    __getattr__ = _attribute
