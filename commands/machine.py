"""What a configuration needs of the machine that trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shared.errors import ConfigError
from ..trainer.envs import LEARNED_ENV_NAMES

if TYPE_CHECKING:
    from ..trainer.config.train_config import TrainConfig


def check_machine(config: TrainConfig) -> None:
    """Raises UsageErrors where this machine lacks the device or files that are asked for."""
    _check_device(config)
    if config.env in LEARNED_ENV_NAMES:
        from ..trainer.envs.tinyphysics.model_file import check_files

        settings = config.table("tinyphysics")
        check_files(settings.model, settings.routes)


def _check_device(config: TrainConfig) -> None:
    """Raises ConfigError where the device asked for is not there, or what only a GPU does."""
    if config.device == "cuda" or config.rollout == "fused":  # else PyTorch need not be imported
        from ..trainer.run.device import chosen_device

        if chosen_device(config.device).type == "cpu" and config.rollout == "fused":
            raise ConfigError("rollout = fused is for a GPU, and there is none here; use steps")
