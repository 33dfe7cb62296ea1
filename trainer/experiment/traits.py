"""Properties of a configuration that decide between the rows of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..envs import num_agents_of, spec_of
from ..envs.names import ENV_NAMES, LEARNED_ENV_NAMES, PARTIAL_ENV_NAMES
from ..spaces import mask_size

if TYPE_CHECKING:
    from ..config import TrainConfig

# Which are not imported to know that they have no action masks.
WITHOUT_MASKS = (*ENV_NAMES, *PARTIAL_ENV_NAMES, *LEARNED_ENV_NAMES)


def has_masks(config: TrainConfig) -> bool:
    """Whether the environment says which actions are legal. Raises ConfigError."""
    return config.env not in WITHOUT_MASKS and mask_size(spec_of(config)) > 0


def some_agents_retire(config: TrainConfig) -> bool:
    """Whether some agents of an environment can end their episode before the others."""
    return num_agents_of(config) > 1 and getattr(config.env_section, "agents_retire", True)


def can_be_on_gpu(config: TrainConfig) -> bool:
    """Whether a GPU can hold the rollouts. If some agents retire, the number of valid rows is only
    known on the GPU. Replay works without that number, but normalising observations needs it.
    """
    return not some_agents_retire(config) or (
        config.learns_from_replay and not config.normalization.obs
    )


def why_one_piece(config: TrainConfig) -> str:
    """Why the actions of all rows must be computed at once; empty if they need not.
    `collector.needs_one_piece` says the same of a policy.
    """
    if getattr(config.algorithm_section, "exploration", "") == "state_dependent":
        return "actions are explored with noise that lasts from step to step"
    if getattr(config.algorithm_section, "noisy_std", 0.0) > 0:
        return "layers are noisy, with noise of each row's own"
    return ""
