"""How policies learn: a module for each algorithm, with its loss and its update, in torch.

What each can be told lies in `sections/`, where nothing needs torch. A new one is a module here
and a section there, and a line in each of the two tables: docs/changing.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import TrainConfig
    from .algorithm import Algorithm

ALGORITHMS = {
    "ppo": "PPO",
    "pqn": "PQN",
    "dqn": "DQN",
    "c51": "C51",
    "qr_dqn": "QRDQN",
    "iqn": "IQN",
    "rainbow": "Rainbow",
    "ddpg": "DDPG",
    "td3": "TD3",
    "sac": "SAC",
    "ac_iqn": "ACIQN",
}  # modules, and the classes in them


# Of those that have one, the class for policies that remember.
RECURRENT = {"ppo": ("recurrent_ppo", "RecurrentPPO")}


def algorithm_class(config: TrainConfig) -> type[Algorithm]:
    """The class of a configuration's algorithm."""
    name = config.algorithm
    module, found = name, ALGORITHMS[name]
    if config.policy.memory.is_on:
        module, found = RECURRENT[name]
    made: type[Algorithm] = getattr(importlib.import_module(f".{module}", __name__), found)
    return made
