"""How good a policy is: greedy episodes, a fixed number from every environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from .envs import make_envs
from .envs.from_gymnasium import GymnasiumSpec
from .envs.spec import EnvSpec
from .envs.streams import EVALUATION
from .envs.vector import Transitions
from .policy import ActorCritic
from .threads import one_torch_thread


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of whole episodes, each [E]; `details` are more metrics."""

    returns: np.ndarray[tuple[int], np.dtype[np.float64]]
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    details: Mapping[str, float] = field(default_factory=dict)


@torch.inference_mode()
def evaluate(
    policy: ActorCritic, spec: EnvSpec | GymnasiumSpec, num_episodes: int, seed: int
) -> Evaluation:
    """Play `num_episodes` greedy episodes, one in each environment.

    One each, because the first to finish of many would be the short ones. The episodes come from
    a random stream of their own and are the same for every policy with this seed.
    """
    envs = make_envs(spec, num_episodes, seed, EVALUATION)
    obs = np.zeros((num_episodes, spec.obs_size), np.float32)
    out = Transitions(
        obs,
        np.zeros(num_episodes, np.float32),
        np.zeros(num_episodes, np.bool_),
        np.zeros(num_episodes, np.bool_),
        np.zeros_like(obs),
    )
    envs.reset(obs)
    returns, lengths = np.zeros(num_episodes), np.zeros(num_episodes, np.int64)
    playing = np.ones(num_episodes, np.bool_)
    while playing.any():
        actions = policy.distribution.mode(policy.outputs(torch.from_numpy(obs)))
        envs.step(policy.distribution.env_actions(actions).numpy(), out)
        one_torch_thread()
        returns[playing] += out.reward[playing]
        lengths[playing] += 1
        playing &= ~(out.terminated | out.truncated)
    return Evaluation(returns, lengths)
