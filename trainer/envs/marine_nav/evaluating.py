"""MarineNav's evaluation and figures, as its authors have them: fixed scenarios, each of which ends
when all robots have arrived or any collides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...jit.compiling import specialised
from ...jit.streams import EVALUATION
from ...policies.policy import Policy, first_state
from ...returns.episodes import Evaluation, FromStart, Progress
from ..bindings import env_step_agents, observe
from ..stepping import compiled_functions
from ..vector import VectorEnv
from .compiled_world import MarineNavSpec
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
from .scenario import Array, Scenario, load_scenario
from .section import SUCCESSES
from .vessel import DECISION_S

GAMMA = 0.99  # of the authors' returns


class Setting(NamedTuple):
    """Numbers of objects, by which scenarios are grouped."""

    robots: int
    obstacles: int
    vortices: int


class Outcome(NamedTuple):
    """The results of E episodes of A robots. [E, A]: which robots took part, arrived and collided,
    their energy in N s, decisions, returns, and the authors' discounted returns. [E]: which
    episodes were cut off. `from_start` is that of `Evaluation`.
    """

    took_part: Array
    arrived: Array
    collided: Array
    energy: Array
    decisions: Array
    returns: Array
    discounted: Array
    cut_off: Array
    from_start: FromStart


def summarised(outcome: Outcome, settings: Sequence[Setting]) -> Evaluation:
    """Metrics over all episodes, and over the episodes of every setting."""
    every = np.ones(len(settings), np.bool_)
    by_setting = []
    for setting in dict.fromkeys(settings):
        chosen = np.array([other == setting for other in settings])
        figures = {
            name: None if np.isnan(x) else x for name, x in figures_of(outcome, chosen).items()
        }
        by_setting.append({**setting._asdict(), "episodes": int(chosen.sum()), **figures})
    details = {f"evaluation/{name}": x for name, x in figures_of(outcome, every).items()}
    for result in by_setting:
        name = f"evaluation/success_{result['robots']}_{result['obstacles']}"
        if not result["vortices"] and name in {metric.name for metric in SUCCESSES}:
            details[name] = result["success"]
    return Evaluation(
        returns=outcome.returns[outcome.took_part],
        lengths=outcome.decisions[outcome.took_part],
        details={name: x for name, x in details.items() if not np.isnan(x)},
        num_cut_off=int(outcome.cut_off.sum()),
        from_start=outcome.from_start,
        settings=tuple(by_setting),
    )


def figures_of(outcome: Outcome, chosen: Array) -> dict[str, float]:
    """The authors' figures of the episodes `chosen` [E]; time and energy are NaN without success.

    An episode succeeds when all robots have arrived, also if one collided as it arrived; strict
    success means no collision.
    """
    part = outcome.took_part[chosen]

    def means(of_robots: Array) -> Array:
        """Means over the robots of every episode."""
        mean: Array = np.where(part, of_robots[chosen], 0).sum(1) / np.maximum(part.sum(1), 1)
        return mean

    success = (outcome.arrived[chosen] | ~part).all(1) & part.any(1)
    strict = success & ~outcome.collided[chosen].any(1)

    def over_successes(means: Array) -> float:
        return float(means[success].mean()) if success.any() else float("nan")

    return {
        "success": float(success.mean()),
        "strict_success": float(strict.mean()),
        "discounted_return": float(means(outcome.discounted).mean()),
        "time_s": over_successes(means(outcome.decisions) * DECISION_S),
        "energy_n_s": over_successes(means(outcome.energy)),
    }


MOST_ROWS = 4096  # observations in one call of the policy


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
    """Play `num_episodes` of `scenarios`, equally many of every setting; without scenarios, random
    ones of the world after its curriculum. Raises ConfigError if one does not fit the world.
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
    return summarised(outcome, settings)


def in_turn(scenarios: Sequence[Scenario]) -> list[Scenario]:
    """Scenarios of alternating settings, so that any first part of them has all settings."""
    by_setting: dict[Setting, list[Scenario]] = {}
    for scenario in scenarios:
        by_setting.setdefault(setting_of(scenario), []).append(scenario)
    rounds = zip_longest(*by_setting.values())
    return [scenario for round_ in rounds for scenario in round_ if scenario is not None]


def setting_of(scenario: Scenario) -> Setting:
    return Setting(len(scenario.starts), len(scenario.obstacles), len(scenario.vortices))


def play(
    policy: Policy, envs: VectorEnv, obs: Array, most_steps: int, progress: Progress, gamma: float
) -> Outcome:
    """Play episodes that have begun, `obs` [E A, D] their first observations. Nothing is reset, so
    that the state keeps how they ended.
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
    """Greedy actions of the rows `acting`, whose `memory` [E A, S] is updated; zeros elsewhere."""
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
    """Compile `step_playing` for a world."""
    functions = compiled_functions(spec)
    loop: Callable[..., None] = specialised(step_playing, spec.name, **functions)
    return loop


def step_playing(
    state: Any,
    source: Any,
    playing: Any,
    actions: Any,
    reward: Any,
    terminated: Any,
    valid: Any,
    obs: Any,
) -> None:
    """Make one decision in the environments that are `playing`, without a reset."""
    for env in range(len(playing)):
        if playing[env]:
            random = (source.first_env + env, state.episode[env], source.seed, source.stream)
            env_step_agents(state.fields, env, random, actions, reward, terminated, valid)
            observe(state.fields, env, obs)
