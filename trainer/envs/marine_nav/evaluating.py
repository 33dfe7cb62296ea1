"""Evaluation of MarineNav as its authors do it: scenarios that stay the same, each played until all
robots have arrived, or any collides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...compiling import specialised
from ...evaluation import Evaluation, FromStart, Progress
from ...networks.policy import Policy, first_state
from ..bindings import env_step_agents, observe
from ..stepping import compiled_functions
from ..streams import EVALUATION
from ..vector import VectorEnv
from .figures import GAMMA, Outcome, Setting, told
from .layout import (
    ENERGY,
    HAS_ARRIVED,
    HAS_COLLIDED,
    IS_ACTIVE,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_VORTICES,
    ROBOT_SIZE,
)
from .making import MarineNavSpec
from .scenario import Array, Scenario, load_scenario
from .section import EFFORT
from .section import ENERGY as SPENT

MOST_ROWS = 4096  # that the policy is asked of at once


def evaluate(
    policy: Policy,
    spec: MarineNavSpec,
    num_episodes: int,
    seed: int,
    max_episode_steps: int,
    progress: Progress,
    gamma: float,
    scenarios: Sequence[Scenario],
) -> Evaluation:
    """Play `num_episodes` of `scenarios`, as many of each setting; where there are none, such as
    the world begins with after its curriculum. Raises ConfigError where one has no room.
    """
    chosen = in_turn(scenarios)[:num_episodes]
    envs = VectorEnv(spec, len(chosen) or num_episodes, seed, EVALUATION)
    obs = np.zeros((envs.num_rows, spec.obs_size), np.float32)
    envs.reset(obs)
    for env, scenario in enumerate(chosen):
        load_scenario(envs, env, scenario, obs)
    rows = [NUM_ROBOTS, NUM_OBSTACLES, NUM_VORTICES]
    settings = [Setting(*counts) for counts in envs.state.fields[rows].T.astype(int).tolist()]
    outcome = play(policy, envs, obs, max_episode_steps, progress, gamma)
    has_thrusters = spec.world.vessels == "thrusters"
    energy = (SPENT if has_thrusters else EFFORT).name.removeprefix("evaluation/")
    return told(outcome, settings, energy)


def in_turn(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """One of each setting after the other, so that any number of the first has all of them."""
    by_setting: dict[Setting, list[Scenario]] = {}
    for scenario in scenarios:
        by_setting.setdefault(setting_of(scenario), []).append(scenario)
    rounds = zip_longest(*by_setting.values())
    return [scenario for each in rounds for scenario in each if scenario is not None]


def setting_of(scenario: Scenario) -> Setting:
    return Setting(len(scenario.starts), len(scenario.obstacles), len(scenario.vortices))


def play(
    policy: Policy, envs: VectorEnv, obs: Array, most_steps: int, progress: Progress, gamma: float
) -> Outcome:
    """Episodes that have begun, `obs` [E A, D] their first observations: without another reset, so
    that what they came to stays in the state.
    """
    num_envs = envs.num_envs
    shape = num_envs, envs.spec.num_agents
    active = robots(envs, IS_ACTIVE) > 0
    took_part, playing = active.copy(), np.ones(num_envs, np.bool_)
    returns, discounted, left = np.zeros(shape), np.zeros(shape), np.ones(shape)
    from_start, decisions = np.zeros(shape), np.zeros(shape, np.int64)
    first_obs, left_obs = obs.copy(), np.zeros_like(obs)
    reward = np.zeros(shape, np.float32)
    terminated, valid = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    step = stepping(envs.spec)
    limit = min(most_steps, envs.spec.max_episode_steps)
    memory = first_state(policy, len(obs))
    for number in range(limit):
        acting = active & playing[:, None]
        actions = actions_of(policy, obs, acting.reshape(-1), memory)
        flat = (x.reshape(-1) for x in (reward, terminated, valid))
        step(envs.state, envs.source, playing, actions, *flat, obs)
        returns[acting] += reward[acting]
        discounted[acting] += GAMMA**number * reward[acting]
        from_start[acting] += left[acting] * reward[acting]
        left[acting] *= gamma
        left_obs[acting.reshape(-1)] = obs[acting.reshape(-1)]
        decisions += acting
        active = robots(envs, IS_ACTIVE) > 0
        playing &= active.any(1) & ~(robots(envs, HAS_COLLIDED) > 0).any(1)
        progress(num_envs - int(playing.sum()), num_envs, "episodes")
        if not playing.any():
            break
    left[~active] = 0.0
    part = took_part.reshape(-1)
    return Outcome(
        took_part=took_part,
        arrived=robots(envs, HAS_ARRIVED) > 0,
        collided=robots(envs, HAS_COLLIDED) > 0,
        energy=robots(envs, ENERGY).astype(np.float64),
        decisions=decisions,
        returns=returns,
        discounted=discounted,
        cut_off=playing if limit < envs.spec.max_episode_steps else np.zeros_like(playing),
        from_start=FromStart(
            first_obs[part], from_start[took_part], left[took_part], left_obs[part]
        ),
    )


def robots(envs: VectorEnv, field: int) -> Array:
    """A field of every robot [E, A]."""
    spec = envs.spec
    assert isinstance(spec, MarineNavSpec)
    first = spec.world.first_rows["first_robot"] + field
    rows = first + ROBOT_SIZE * np.arange(spec.num_agents)
    fields: Array = envs.state.fields[rows].T
    return fields


def actions_of(policy: Policy, obs: Array, acting: Array, memory: Tensor) -> Array:
    """Greedy actions of the rows `acting`, whose `memory` [E A, S] goes on; anything in others."""
    rows = np.flatnonzero(acting)
    parts = [rows[i : i + MOST_ROWS] for i in range(0, len(rows), MOST_ROWS)]
    chosen = []
    for part in parts:
        taken, memory[part] = policy.greedy_step(torch.from_numpy(obs[part]), memory[part])
        chosen.append(taken.numpy())
    first = np.concatenate(chosen)
    actions = np.zeros((len(obs), *first.shape[1:]), first.dtype)
    actions[rows] = first
    return actions


@cache
def stepping(spec: MarineNavSpec) -> Callable[..., None]:
    """The compiled loop of a kind of world."""
    functions = compiled_functions(spec)
    loop: Callable[..., None] = specialised(step_playing, spec.name, **functions)
    return loop


def step_playing(
    state: Any, source: Any, playing: Any, actions: Any, reward: Any, terminated: Any, valid: Any,
    obs: Any,
) -> None:  # fmt: skip
    """One decision in the environments that are `playing`, without a reset."""
    for env in range(len(playing)):
        if playing[env]:
            random = (source.first_env + env, state.episode[env], source.seed, source.stream)
            env_step_agents(state.fields, env, random, actions, reward, terminated, valid)
            observe(state.fields, env, obs)
