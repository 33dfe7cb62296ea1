"""How policies learn: a module for each algorithm, with its loss and its update, in torch.

Their settings are in `config/sections/`, which does not import torch. A new algorithm is a module
here, a section there, and a line in each of two tables; docs/changing.md shows how.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..config.own_algorithms import own_algorithm
from ..settings.own_code import is_own

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
    "tqc": "TQC",
    "crossq": "CrossQ",
    "ac_iqn": "ACIQN",
}  # modules, and the classes in them


def algorithm_class(learner: str) -> Any:
    """The class of an algorithm, a subclass of `Algorithm`. Raises ConfigError if a user's class
    cannot be imported.
    """
    if is_own(learner):
        return own_algorithm(learner)
    return getattr(importlib.import_module(f".{learner}", __name__), ALGORITHMS[learner])
