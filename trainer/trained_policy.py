"""A trained policy, to evaluate it or to play with it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..shared.run_folder import Run
from .config import TrainConfig
from .config.saved_config import saved_config
from .making import make_policy
from .networks.policy import Policy
from .run.checkpoints import latest_checkpoint, restoring


@dataclass(frozen=True)
class TrainedPolicy:
    """The policy of a checkpoint. `warning` tells what of the checkpoint this version left out."""

    policy: Policy
    config: TrainConfig
    iteration: int
    warning: str = ""

    @torch.inference_mode()
    def act(self, obs: Tensor) -> Tensor:
        """Greedy actions as the environment takes them, from obs [B, obs_size], float32."""
        return self.policy.greedy(obs)


def load_trained(run: Run) -> TrainedPolicy:
    """The policy of a run's newest checkpoint, on the processor. Raises CheckpointError."""
    checkpoint = latest_checkpoint(run.checkpoint_folder)
    saved = saved_config(checkpoint.config)
    policy = make_policy(saved.config)
    with restoring("policy"):
        policy.load_state_dict(checkpoint.state["policy"])
    return TrainedPolicy(policy, saved.config, checkpoint.iteration, saved.warning)
