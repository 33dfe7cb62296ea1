"""The `EnvSpec` of MarineNav."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...jit.streams import EVALUATION
from ...spaces import Discrete, symmetric_box
from ..spec import Array
from .compiled_world import MarineNavSpec, World, functions_of
from .constants import MAX_CLOCK
from .layout import (
    MISSING_OBSTACLES,
    MISSING_ROBOTS,
    MISSING_VORTICES,
    NUM_STAGES,
    OBS_SIZE,
    SHORT_EPISODES,
    STAGE_SIZE,
)
from .section import MarineNavConfig, Stage

if TYPE_CHECKING:
    from ...policies.encoder import Encoder
    from ...returns.episodes import Evaluation
    from .scenario import Scenario

MAX_DECISIONS = 1000


@cache
def make_spec(section: MarineNavConfig | None = None) -> MarineNavSpec:
    """MarineNav with the settings of the table `[marine_nav]`, by default with its defaults."""
    section = MarineNavConfig() if section is None else section
    world = world_of(section)
    functions = functions_of(world)
    thrusts = Discrete(25) if world.actions == "discrete" else symmetric_box(1.0, 1.0)
    return MarineNavSpec(
        name=world.name,
        state_size=world.first_rows["state_size"],
        obs_size=OBS_SIZE,
        actions=thrusts,
        max_episode_steps=MAX_DECISIONS,
        reset=functions.reset,
        step=functions.step,
        observe=functions.observe,
        num_agents=world.robots,
        prepare=stage_writer(section, world),
        make_encoder=make_encoder,
        evaluate=evaluate,
        scenarios=partial(scenarios_in, world),
        notice=shortage,
        world=world,
    )


def make_encoder(seed: int) -> Encoder:
    """`EnvSpec.make_encoder`."""
    from .encoder import ObjectEncoder  # torch takes a second to import

    return ObjectEncoder(seed)


def evaluate(*arguments: Any, **options: Any) -> Evaluation:
    """`EnvSpec.evaluate`."""
    from .evaluating import evaluate  # torch takes a second to import

    return evaluate(*arguments, **options)


def scenarios_in(world: World, path: Path | None) -> Sequence[Scenario]:
    """`EnvSpec.scenarios`."""
    from .scenario import check_room, read_scenarios, six_settings

    if path is None:
        return six_settings(world)
    found = read_scenarios(path)
    for number, scenario in enumerate(found):
        check_room(scenario, world, f"{path}, scenario {number}:")
    return found


def world_of(section: MarineNavConfig) -> World:
    """The sizes and choices that a table's world is compiled for."""
    return World(
        robots=section.num_robots,
        obstacles=section.num_obstacles,
        vortices=section.num_vortices,
        actions=section.actions,
        noise="drawn" if section.noise else "none",
    )


def stage_writer(section: MarineNavConfig, world: World) -> Callable[[Array, int, int], None]:
    """`EnvSpec.prepare`: write the curriculum's stages, with their ends in decisions of one world.

    Evaluations use the world after the curriculum.
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
    """`EnvSpec.notice`: the number of objects that found no room."""
    rows = (SHORT_EPISODES, MISSING_ROBOTS, MISSING_OBSTACLES, MISSING_VORTICES)
    episodes, robots, obstacles, vortices = (int(state[row].sum(dtype=np.float64)) for row in rows)
    if not episodes:
        return ""
    return (
        f"marine_nav: {episodes} episodes began with fewer objects than asked for, since there was "
        f"no room after 500 proposals: {robots} robots, {obstacles} obstacles and {vortices} "
        "vortices are missing"
    )
