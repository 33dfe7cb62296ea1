"""The `EnvSpec` of a configuration's MarineNav."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ....shared.errors import ConfigError
from ...jit.streams import EVALUATION
from ..spec import Array
from .constants import MAX_CLOCK, MAX_DECISIONS
from .layout import (
    MISSING_OBSTACLES,
    MISSING_ROBOTS,
    MISSING_VORTICES,
    NUM_STAGES,
    SHORT_EPISODES,
    STAGE_SIZE,
)
from .section import MarineNavConfig, Stage
from .world import MarineNavSpec, World, functions_of

if TYPE_CHECKING:
    from torch import Tensor

    from ...policies.encoder import Encoder
    from ...returns.episodes import Evaluation
    from .scenario import Scenario


@cache
def make_spec(section: MarineNavConfig | None = None) -> MarineNavSpec:
    """MarineNav as the table `[marine_nav]` says, or with its defaults."""
    section = MarineNavConfig() if section is None else section
    world = world_of(section)
    functions = functions_of(world)
    return MarineNavSpec(
        name=world.name,
        state_size=world.first_rows["state_size"],
        obs_size=world.obs_size,
        actions=world.action_spec,
        # The authors' simulator counts from 0, ends the task there, and does both itself.
        max_episode_steps=MAX_DECISIONS + section.compatibility,
        reset=functions.reset,
        step=functions.step,
        observe=functions.observe,
        num_agents=world.robots,
        prepare=stage_writer(section, world),
        make_encoder=partial(make_encoder, world),
        adaptive_risk=None if world.vessels == "thrusters" else partial(adaptive_risk, world),
        # Of several robots; one alone is evaluated as other environments are.
        evaluate=None if world.vessels == "sonar" else evaluate,
        scenarios=None if world.vessels == "sonar" else partial(scenarios, world),
        notice=shortage,
        world=world,
    )


def make_encoder(world: World, seed: int) -> Encoder:
    """`EnvSpec.make_encoder`."""
    from .encoder import encoder_for  # torch takes a second to import

    return encoder_for(world.vessels, seed)


def adaptive_risk(world: World, obs: Tensor) -> Tensor:
    """`EnvSpec.adaptive_risk`."""
    from . import danger  # torch takes a second to import

    return danger.adaptive_risk(world, obs)


def evaluate(*arguments: Any, **options: Any) -> Evaluation:
    """`EnvSpec.evaluate`."""
    from .evaluating import evaluate  # which imports this

    return evaluate(*arguments, **options)


def scenarios(world: World, path: Path | None) -> Sequence[Scenario]:
    """`EnvSpec.scenarios`."""
    from .scenario import check_room
    from .scenario_files import read_scenarios
    from .six_settings import six_settings

    if path is not None and world.vessels != "thrusters":
        raise ConfigError(f"--scenarios {path}: those of files are for vessels with thrusters")
    if path is None:
        return six_settings(world)
    found = read_scenarios(path)
    for number, scenario in enumerate(found):
        check_room(scenario, world, f"{path}, scenario {number}:")
    return found


def world_of(section: MarineNavConfig) -> World:
    """What is compiled for a table."""
    return World(
        robots=section.num_robots,
        obstacles=section.num_obstacles,
        vortices=section.num_vortices,
        actions=section.actions,
        noise="drawn" if section.noise else "none",
        scaled_obs=section.scaled_obs,
        compatibility=section.compatibility,
        vessels=section.vessels,
        substeps=section.substeps,
        boundary=section.boundary,
    )


def stage_writer(section: MarineNavConfig, world: World) -> Callable[[Array, int, int], None]:
    """`EnvSpec.prepare`: the curriculum's stages, with their ends in decisions of one world.

    An evaluation is of the world after the curriculum.
    """
    last = Stage(
        until_env_steps=10**15,
        num_robots=section.num_robots,
        num_obstacles=section.num_obstacles,
        num_vortices=section.num_vortices,
        min_goal_distance_m=section.min_goal_distance_m,
    )

    def write_stages(state: Array, num_envs: int, stream: int) -> None:
        state[NUM_STAGES] = len(section.curriculum) + 1
        row = world.first_rows["first_stage"]
        for stage in (*section.curriculum, last):
            decisions = -(-stage.until_env_steps // (num_envs * world.robots))
            state[row : row + STAGE_SIZE] = np.array(
                [
                    0 if stream == EVALUATION else min(decisions, MAX_CLOCK),
                    stage.num_robots,
                    stage.num_obstacles,
                    stage.num_vortices,
                    stage.min_goal_distance_m,
                ]
            )[:, None]
            row += STAGE_SIZE

    return write_stages


def shortage(state: Array) -> str:
    """`EnvSpec.notice`: how many objects there was no room for."""
    rows = (SHORT_EPISODES, MISSING_ROBOTS, MISSING_OBSTACLES, MISSING_VORTICES)
    episodes, robots, obstacles, vortices = (int(state[row].sum(dtype=np.float64)) for row in rows)
    if not episodes:
        return ""
    return (
        f"marine_nav: {episodes} episodes began with fewer objects than asked for, since there was "
        f"no room after 500 proposals: {robots} robots, {obstacles} obstacles and {vortices} "
        "vortices are missing"
    )
