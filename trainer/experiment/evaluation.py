"""Evaluation: greedy episodes of a policy, one from every environment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...shared.errors import ConfigError
from ..envs.hosts import AnySpec, make_envs
from ..envs.spec import EnvSpec
from ..envs.vector import Transitions
from ..jit.streams import EVALUATION
from ..machine.threads import one_torch_thread
from ..policies.policy import Policy, first_state
from ..returns.episodes import Evaluation, FromStart, Progress

if TYPE_CHECKING:
    from ..envs.hosts import AnyEnvs

MAX_EPISODE_STEPS = 27_000  # half an hour at 15 actions a second, as Atari's episodes are limited


@torch.inference_mode()
def evaluate(
    policy: Policy,
    spec: AnySpec,
    num_episodes: int,
    seed: int,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    progress: Progress = lambda *_: None,
    gamma: float = 1.0,
    scenarios: Sequence[Any] | None = None,
) -> Evaluation:
    """Play `num_episodes` greedy episodes, one in each environment, none longer than
    `max_episode_steps`: some environments never end one. `progress` is called after every step.
    `gamma` discounts the returns in `from_start`.

    One each, because the first to finish of many would be the short ones. The episodes come from
    a random stream of their own and are the same for every policy with this seed. An environment
    whose authors evaluate in another way brings that, and begins with `scenarios`.
    """
    if isinstance(spec, EnvSpec) and spec.evaluate:
        chosen = scenarios_of(spec) if scenarios is None else scenarios
        played: Evaluation = spec.evaluate(
            policy, spec, num_episodes, seed, max_episode_steps, progress, gamma, chosen
        )
        return played
    with closing(make_envs(spec, num_episodes, seed, EVALUATION)) as envs:
        return _play(policy, envs, gamma, max_episode_steps, progress)


def scenarios_of(spec: AnySpec, path: Path | None = None) -> Sequence[Any]:
    """The scenarios that evaluations of an environment begin with: of a file, or its own; empty if
    they begin with a reset. Raises ConfigError if a file is bad or for another environment.
    """
    if isinstance(spec, EnvSpec) and spec.scenarios:
        return spec.scenarios(path)
    if path is not None:
        name = spec.name if isinstance(spec, EnvSpec) else "the environment of this run"
        raise ConfigError(f"--scenarios {path}: {name} has no scenarios")
    return ()


def _play(
    policy: Policy,
    envs: AnyEnvs,
    gamma: float,
    most_steps: int,
    progress: Progress,
) -> Evaluation:
    out = Transitions.of(envs.spec, envs.num_rows)
    envs.reset(out.obs)
    returns, lengths = np.zeros(envs.num_rows), np.zeros(envs.num_rows, np.int64)
    playing = np.ones(envs.num_rows, np.bool_)
    start = FromStart(out.obs.copy(), np.zeros_like(returns), np.ones_like(returns), out.obs.copy())
    state = first_state(policy, envs.num_rows)  # its own, whatever is being collected meanwhile
    for _ in range(most_steps):
        actions, state = policy.greedy_step(torch.from_numpy(out.obs), state)
        envs.step(actions.numpy(), out)
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
