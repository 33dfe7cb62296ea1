"""What each algorithm can be told. No torch here: the command line reads configurations at once."""

from __future__ import annotations

from ...config.section import AlgorithmSection
from .actor_critic import DDPGConfig, SACConfig, TD3Config
from .dqn import DQNConfig
from .ppo import PPOConfig
from .pqn import PQNConfig

ALGORITHM_SECTIONS: dict[str, type[AlgorithmSection]] = {
    "ppo": PPOConfig,
    "pqn": PQNConfig,
    "dqn": DQNConfig,
    "ddpg": DDPGConfig,
    "td3": TD3Config,
    "sac": SACConfig,
}
