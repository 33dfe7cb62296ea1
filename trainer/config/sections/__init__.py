"""The table of algorithms. No torch here: the command line reads their settings at once."""

from __future__ import annotations

from typing import NamedTuple

from ...settings.section import AlgorithmSection
from .actor_critic import ACIQNConfig, CrossQConfig, DDPGConfig, SACConfig, TD3Config, TQCConfig
from .dqn import C51Config, DQNConfig, IQNConfig, QRDQNConfig, RainbowConfig
from .ppo import PPOConfig
from .pqn import PQNConfig


class AlgorithmEntry(NamedTuple):
    """The name of the class, in the module of `trainer/algorithms/` that has the algorithm's name,
    and the model of its settings, the table of that name in a configuration.
    """

    class_name: str
    section: type[AlgorithmSection]


ALGORITHMS = {
    "ppo": AlgorithmEntry("PPO", PPOConfig),
    "pqn": AlgorithmEntry("PQN", PQNConfig),
    "dqn": AlgorithmEntry("DQN", DQNConfig),
    "c51": AlgorithmEntry("C51", C51Config),
    "qr_dqn": AlgorithmEntry("QRDQN", QRDQNConfig),
    "iqn": AlgorithmEntry("IQN", IQNConfig),
    "rainbow": AlgorithmEntry("Rainbow", RainbowConfig),
    "ddpg": AlgorithmEntry("DDPG", DDPGConfig),
    "td3": AlgorithmEntry("TD3", TD3Config),
    "sac": AlgorithmEntry("SAC", SACConfig),
    "tqc": AlgorithmEntry("TQC", TQCConfig),
    "crossq": AlgorithmEntry("CrossQ", CrossQConfig),
    "ac_iqn": AlgorithmEntry("ACIQN", ACIQNConfig),
}
