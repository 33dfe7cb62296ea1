"""A trained policy, to evaluate it or to play with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..shared.run_folder import Run
from .config import TrainConfig
from .config.saved_config import saved_config
from .making import make_policy
from .networks.policy import Policy
from .run.checkpoints import latest_checkpoint
from .run.restoring import restoring


@dataclass(frozen=True)
class TrainedPolicy:
    """The policy of a checkpoint."""

    policy: Policy
    config: TrainConfig
    iteration: int

    @torch.inference_mode()
    def act(self, obs: Tensor) -> Tensor:
        """Greedy actions as the environment takes them, from obs [B, obs_size], float32."""
        return self.policy.greedy(obs)


def load_trained(run: Run, warn: Callable[[str], None] = lambda _: None) -> TrainedPolicy:
    """The policy of a run's newest checkpoint that can be read, on the processor; `warn` is told of
    newer ones, and of what in it this version leaves out. Raises CheckpointError.
    """
    checkpoint = latest_checkpoint(run.checkpoint_folder, warn)
    saved = saved_config(checkpoint.config)
    if saved.warning:
        warn(saved.warning)
    policy = make_policy(saved.config)
    saved_policy = {"policy": checkpoint.state.get("policy")}
    with restoring(saved_policy, lambda: {"policy": policy.state_dict()}):
        policy.load_state_dict(checkpoint.state["policy"])
    return TrainedPolicy(policy, saved.config, checkpoint.iteration)
