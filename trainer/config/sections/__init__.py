"""The settings of each algorithm. No torch here: the command line reads them at once."""

from __future__ import annotations

from ...settings.section import AlgorithmSection
from .actor_critic import ACIQNConfig, CrossQConfig, DDPGConfig, SACConfig, TD3Config, TQCConfig
from .dqn import C51Config, DQNConfig, IQNConfig, QRDQNConfig, RainbowConfig
from .ppo import PPOConfig
from .pqn import PQNConfig

ALGORITHM_SECTIONS: dict[str, type[AlgorithmSection]] = {
    "ppo": PPOConfig,
    "pqn": PQNConfig,
    "dqn": DQNConfig,
    "c51": C51Config,
    "qr_dqn": QRDQNConfig,
    "iqn": IQNConfig,
    "rainbow": RainbowConfig,
    "ddpg": DDPGConfig,
    "td3": TD3Config,
    "sac": SACConfig,
    "tqc": TQCConfig,
    "crossq": CrossQConfig,
    "ac_iqn": ACIQNConfig,
}
