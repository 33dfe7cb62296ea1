"""What all algorithms that learn from rollouts check."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...config import TrainConfig


def check_minibatches(config: TrainConfig, num_minibatches: int) -> None:
    """Raises ValueError where minibatches do not divide the rollout."""
    if config.rollout_size % num_minibatches:
        raise ValueError(
            f"{config.algorithm}.num_minibatches = {num_minibatches} does not divide the rollout "
            f"of {config.rollout_in_words} = {config.rollout_size}"
        )
