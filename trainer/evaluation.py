"""Evaluation: greedy episodes of a policy, one from every environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch

from .envs import make_envs
from .envs.from_gymnasium import GymnasiumEnvs, GymnasiumSpec
from .envs.spec import EnvSpec
from .envs.streams import EVALUATION
from .envs.vector import Transitions, VectorEnv
from .networks.policy import Policy
from .run.threads import one_torch_thread

MAX_EPISODE_STEPS = 27_000  # half an hour at 15 actions a second, as Atari's episodes are limited

Progress = Callable[[int, int, str], None]  # done, total, of what


Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


class FromStart(NamedTuple):
    """What followed the first observations `obs` [E, D]: discounted returns [E], and where a limit
    cut an episode short what is left, the discount [E] and the last observation [E, D]; else 0.
    """

    obs: np.ndarray[tuple[int, int], np.dtype[np.float32]]
    returns: Floats
    left_discounts: Floats
    left_obs: np.ndarray[tuple[int, int], np.dtype[np.float32]]


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of episodes, each [E], of every agent where environments
    have several; `details` are more metrics.

    `num_cut_off` of them had no end within the limit and count as far as they went.
    """

    returns: Floats
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    details: Mapping[str, float] = field(default_factory=dict)
    num_cut_off: int = 0
    from_start: FromStart | None = None


@torch.inference_mode()
def evaluate(
    policy: Policy,
    spec: EnvSpec | GymnasiumSpec,
    num_episodes: int,
    seed: int,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    progress: Progress = lambda *_: None,
    gamma: float = 1.0,
) -> Evaluation:
    """Play `num_episodes` greedy episodes, one in each environment, none longer than
    `max_episode_steps`: some environments never end one. `progress` is told after every step.
    `gamma` discounts what `from_start` tells.

    One each, because the first to finish of many would be the short ones. The episodes come from
    a random stream of their own and are the same for every policy with this seed.
    """
    with closing(make_envs(spec, num_episodes, seed, EVALUATION)) as envs:
        return _play(policy, envs, gamma, max_episode_steps, progress)


def _play(
    policy: Policy,
    envs: VectorEnv | GymnasiumEnvs,
    gamma: float,
    most_steps: int,
    progress: Progress,
) -> Evaluation:
    out = Transitions.empty(envs.spec.obs_size, envs.num_rows)
    envs.reset(out.obs)
    returns, lengths = np.zeros(envs.num_rows), np.zeros(envs.num_rows, np.int64)
    playing = np.ones(envs.num_rows, np.bool_)
    start = FromStart(out.obs.copy(), np.zeros_like(returns), np.ones_like(returns), out.obs.copy())
    for _ in range(most_steps):
        envs.step(policy.greedy(torch.from_numpy(out.obs)).numpy(), out)
        one_torch_thread()
        playing &= out.valid  # some agents may take no part in an episode
        returns[playing] += out.reward[playing]
        lengths[playing] += 1
        start.returns[playing] += start.left_discounts[playing] * out.reward[playing]
        start.left_discounts[playing] *= gamma
        start.left_obs[playing] = np.where(out.truncated[:, None], out.final_obs, out.obs)[playing]
        start.left_discounts[playing & out.terminated] = 0
        playing &= ~(out.terminated | out.truncated)
        num_playing = int(playing.sum())
        progress(envs.num_rows - num_playing, envs.num_rows, "episodes")
        if not num_playing:
            break
    took_part = lengths > 0
    return Evaluation(
        returns[took_part], lengths[took_part], num_cut_off=int(playing.sum()),
        from_start=FromStart(
            start.obs[took_part], start.returns[took_part],
            start.left_discounts[took_part], start.left_obs[took_part],
        ),
    )  # fmt: skip


def cut_off_message(evaluation: Evaluation, limit: int) -> str:
    """Says that episodes were cut off, and where the limit is set."""
    return (
        f"evaluation: {evaluation.num_cut_off} of {len(evaluation.returns)} episodes had no end "
        f"and were cut off at evaluation.max_episode_steps = {limit}"
    )
