"""operant's algorithms, to derive your own from.

A class that is derived from one of them is an algorithm of your own:
`operant.train(env, algorithm=Mine)`, or `algorithm = "module:Mine"` in TOML. Its keys are those of
the table of the class that it is derived from. For more keys, set `section_class` to a class that
is derived from the model of that table, such as `DQNConfig`. `operant.testing.check_algorithm`
checks your class.
"""

from pydantic import Field

from .shared import Metric
from .trainer.algorithms.ac_iqn import ACIQN
from .trainer.algorithms.actor_critic import CriticLosses
from .trainer.algorithms.c51 import C51
from .trainer.algorithms.crossq import CrossQ
from .trainer.algorithms.ddpg import DDPG
from .trainer.algorithms.dqn import DQN
from .trainer.algorithms.iqn import IQN
from .trainer.algorithms.ppo import PPO
from .trainer.algorithms.pqn import PQN
from .trainer.algorithms.qr_dqn import QRDQN
from .trainer.algorithms.rainbow import Rainbow
from .trainer.algorithms.sac import SAC
from .trainer.algorithms.td3 import TD3
from .trainer.algorithms.tqc import TQC
from .trainer.algorithms.value_based import Losses, into_outputs
from .trainer.config.sections.actor_critic import (
    ACIQNConfig,
    CrossQConfig,
    DDPGConfig,
    SACConfig,
    TD3Config,
    TQCConfig,
)
from .trainer.config.sections.dqn import (
    C51Config,
    DQNConfig,
    IQNConfig,
    QRDQNConfig,
    RainbowConfig,
)
from .trainer.config.sections.ppo import PPOConfig
from .trainer.config.sections.pqn import PQNConfig
from .trainer.memory.replay import Batch
from .trainer.returns.losses import LOSSES
from .trainer.returns.td import td_target

__all__ = [
    "ACIQN", "C51", "DDPG", "DQN", "IQN", "LOSSES", "PPO", "PQN", "QRDQN", "SAC", "TD3", "TQC",
    "ACIQNConfig", "Batch", "C51Config", "CriticLosses", "CrossQ", "CrossQConfig", "DDPGConfig",
    "DQNConfig", "Field", "IQNConfig", "Losses", "Metric", "PPOConfig", "PQNConfig", "QRDQNConfig",
    "Rainbow", "RainbowConfig", "SACConfig", "TD3Config", "TQCConfig", "into_outputs", "td_target",
]  # fmt: skip
