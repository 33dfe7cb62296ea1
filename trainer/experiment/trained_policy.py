"""A trained policy, to evaluate it or to play with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ...shared.errors import CheckpointError, UsageError
from ...shared.runs.run_folder import Run
from ..config import TrainConfig
from ..config.from_values import saved_config
from ..envs.hosts import AnySpec, describe
from ..policies.implicit_quantiles import ImplicitQuantiles
from ..policies.policy import Policy, first_state
from .checkpoints import NEWEST, Checkpoint, named_checkpoint
from .restoring import restoring
from .untrained import make_policy


@dataclass(frozen=True)
class TrainedPolicy:
    """The policy of a checkpoint."""

    policy: Policy
    config: TrainConfig
    iteration: int

    @cached_property
    def spec(self) -> AnySpec:
        """The environment that the policy was trained in. Raises ConfigError."""
        return describe(self.config)

    def first_state(self, num_rows: int) -> Tensor:
        """The recurrent state [num_rows, state_size] at the beginning of episodes."""
        return first_state(self.policy, num_rows)

    def check_finite(self) -> None:
        """Raises CheckpointError if weights are NaN or infinite: no action means anything then."""
        for name, weights in self.policy.state_dict().items():
            if weights.is_floating_point() and not weights.isfinite().all():
                raise CheckpointError(
                    f"iteration {self.iteration}: {name} has NaN or infinity in it, so the policy "
                    "is of no use; take another --checkpoint, such as best"
                )

    @torch.inference_mode()
    def act(self, obs: Tensor | np.ndarray) -> Tensor:
        """Greedy actions as the environment takes them, from obs [B, obs_size]. Raises ValueError
        if the policy remembers: that takes `step`.
        """
        if self.policy.state_size:
            raise ValueError("this policy remembers the steps before: use step, from first_state")
        return self.step(obs, self.first_state(len(obs)))[0]

    @torch.inference_mode()
    def step(self, obs: Tensor | np.ndarray, state: Tensor) -> tuple[Tensor, Tensor]:
        """Greedy actions from obs [B, obs_size] and the recurrent state [B, state_size], and the
        next state.
        """
        given = torch.as_tensor(obs)
        return self.policy.greedy_step(given.float() if given.is_floating_point() else given, state)


def load_trained(
    run: Run, warn: Callable[[str], None] = lambda _: None, checkpoint: str = NEWEST
) -> TrainedPolicy:
    """The policy of a run's newest checkpoint that can be read, on the processor, or of another, as
    `named_checkpoint` has them; `warn` gets a line for newer ones that cannot be read. Raises
    CheckpointError.
    """
    return trained_in(named_checkpoint(run, checkpoint, warn))


def trained_in(checkpoint: Checkpoint) -> TrainedPolicy:
    """The policy of a checkpoint, on the processor. Raises CheckpointError, also if weights are NaN
    or infinite.
    """
    config = saved_config(checkpoint.config)
    policy = make_policy(config)
    saved_policy = {"policy": checkpoint.state.get("policy")}
    with restoring(saved_policy, lambda: {"policy": policy.state_dict()}):
        policy.load_state_dict(checkpoint.state["policy"])
    trained = TrainedPolicy(policy, config, checkpoint.iteration)
    trained.check_finite()
    return trained


def copy_of_policy(policy: Policy, config: TrainConfig, iteration: int) -> TrainedPolicy:
    """The policy as it is now, on the processor. What it keeps of each row of training is left as
    it begins: several ranks have a part each.
    """
    copied = make_policy(config)
    learned = {
        name: x.cpu() for name, x in policy.state_dict().items() if name not in policy.of_rows
    }
    copied.load_state_dict({**copied.state_dict(), **learned})
    return TrainedPolicy(copied, config, iteration)


def act_with_risk(trained: TrainedPolicy, risk: float) -> None:
    """Have a policy of implicit quantiles act by another lower part of the return: a fraction above
    0 and up to 1. Raises UsageError for other policies.
    """
    network = getattr(trained.policy, "network", None)
    if not isinstance(network, ImplicitQuantiles):
        raise UsageError(f"--risk {risk:g}: {trained.config.algorithm} has no quantiles to act by")
    network.risk.fill_(risk)
