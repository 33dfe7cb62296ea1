"""The `EnvSpec` of a configuration's grid world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ...spaces import Discrete
from ..spec import Array, EnvSpec
from . import layout
from .kinds import NUM_ACTIONS
from .maps import Map
from .section import ArenaSection, GridConfig
from .world import World, functions_of

# Keys of the table whose numbers lie in the state: they are no reason to compile anew.
SETTINGS = (
    "num_walls",
    "num_mines",
    "num_generators",
    "num_altars",
    "num_maps",
    "cooldown",
    "ore_limit",
    "battery_limit",
    "ore_reward",
    "battery_reward",
    "ore_reward_cap",
    "battery_reward_cap",
)


@dataclass(frozen=True, kw_only=True)
class GridSpec(EnvSpec):
    """What steps a kind of world, and that kind."""

    world: World


@cache
def make_spec(section: GridConfig | None = None) -> GridSpec:
    """The world that the table `[grid]` says, or that of its defaults. Raises ConfigError."""
    section = GridConfig() if section is None else section
    for refusal in section.refusals():
        raise ConfigError(refusal)
    map_ = section.read_map()
    world = world_of(section, map_)
    functions = functions_of(world)
    return GridSpec(
        name=world.name,
        state_size=world.first_rows["state_size"],
        obs_size=world.obs_size,
        actions=Discrete(NUM_ACTIONS),
        max_episode_steps=world.ticks,
        reset=functions.reset,
        step=functions.step,
        observe=functions.observe,
        num_agents=world.agents,
        prepare=settings_writer(section, world, map_),
        obs_type=np.uint8,
        make_encoder=partial(make_encoder, section.embedding_size),
        agents_retire=False,
        world=world,
    )


def make_encoder(embedding_size: int, seed: int) -> Any:
    """`EnvSpec.make_encoder`."""
    from .reading import make_embedding  # torch takes a second to import

    return make_embedding(embedding_size, seed)


def world_of(section: ArenaSection, map_: Map | None) -> World:
    """What is compiled for a table."""
    height, width = map_.kinds.shape if map_ else (section.height, section.width)
    return World(
        section.num_agents, height, width, section.num_tokens, section.max_steps, map_ is not None
    )


def settings_writer(
    section: GridConfig, world: World, map_: Map | None
) -> Callable[[Array, int, int], None]:
    """`EnvSpec.prepare`: the table's numbers, and the map where there is one."""

    def write_settings(state: Array, num_envs: int, stream: int) -> None:
        for key in SETTINGS:
            state[getattr(layout, key.upper())] = getattr(section, key)
        if map_:
            first = world.first_rows["first_told"]
            state[first:] = map_.kinds.reshape(-1, 1)

    return write_settings
