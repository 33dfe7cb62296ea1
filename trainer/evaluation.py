"""Evaluation: greedy episodes of a policy, one from every environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class Evaluation:
    """Undiscounted returns and lengths of episodes, each [E], of every agent where environments
    have several; `details` are more metrics.

    `num_cut_off` of them had no end within the limit and count as far as they went.
    """

    returns: np.ndarray[tuple[int], np.dtype[np.float64]]
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    details: Mapping[str, float] = field(default_factory=dict)
    num_cut_off: int = 0


@torch.inference_mode()
def evaluate(
    policy: Policy,
    spec: EnvSpec | GymnasiumSpec,
    num_episodes: int,
    seed: int,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    progress: Progress = lambda *_: None,
) -> Evaluation:
    """Play `num_episodes` greedy episodes, one in each environment, none longer than
    `max_episode_steps`: some environments never end one. `progress` is told after every step.

    One each, because the first to finish of many would be the short ones. The episodes come from
    a random stream of their own and are the same for every policy with this seed.
    """
    with closing(make_envs(spec, num_episodes, seed, EVALUATION)) as envs:
        return _play(policy, envs, max_episode_steps, progress)


def _play(
    policy: Policy, envs: VectorEnv | GymnasiumEnvs, most_steps: int, progress: Progress
) -> Evaluation:
    out = Transitions.empty(envs.spec.obs_size, envs.num_rows)
    envs.reset(out.obs)
    returns, lengths = np.zeros(envs.num_rows), np.zeros(envs.num_rows, np.int64)
    playing = np.ones(envs.num_rows, np.bool_)
    for _ in range(most_steps):
        envs.step(policy.greedy(torch.from_numpy(out.obs)).numpy(), out)
        one_torch_thread()
        playing &= out.valid  # some agents may take no part in an episode
        returns[playing] += out.reward[playing]
        lengths[playing] += 1
        playing &= ~(out.terminated | out.truncated)
        num_playing = int(playing.sum())
        progress(envs.num_rows - num_playing, envs.num_rows, "episodes")
        if not num_playing:
            break
    took_part = lengths > 0
    return Evaluation(returns[took_part], lengths[took_part], num_cut_off=int(playing.sum()))


def cut_off_message(evaluation: Evaluation, limit: int) -> str:
    """Says that episodes were cut off, and where the limit is set."""
    return (
        f"evaluation: {evaluation.num_cut_off} of {len(evaluation.returns)} episodes had no end "
        f"and were cut off at evaluation.max_episode_steps = {limit}"
    )
