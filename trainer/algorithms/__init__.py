"""How policies learn: a module for each algorithm, with its loss and its update, in torch.

What each can be told lies in `sections/`, where nothing needs torch. A new one is a module here
and a section there, and a line in each of the two tables.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def algorithm_class(name: str) -> type[Algorithm]:
    """The class of one of `ALGORITHMS`."""
    module = importlib.import_module(f".{name}", __name__)
    found: type[Algorithm] = getattr(module, ALGORITHMS[name])
    return found
