"""The `EnvSpec` of a configuration's grid world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ...jit.compiling import compiled
from ...jit.templates import rebound_all
from ...spaces import Discrete
from ..spec import Array, EnvSpec
from . import environment, layout, observing
from .kinds import NUM_ACTIONS
from .maps import Map
from .section import ArenaSection, GridConfig
from .world import World, bindings_of


@dataclass(frozen=True, kw_only=True)
class GridSpec(EnvSpec):
    """An `EnvSpec` with the sizes that it was compiled for."""

    world: World


@cache
def make_spec(section: GridConfig | None = None) -> GridSpec:
    """The world of the table `[grid]`, by default with its defaults. Raises ConfigError."""
    section = GridConfig() if section is None else section
    for refusal in section.refusals():
        raise ConfigError(refusal)
    map_ = section.read_map()
    world = world_of(section, map_)
    step = environment.step_alone if world.agents == 1 else environment.step
    templates = environment.reset, step, observing.observe
    reset, step, observe = rebound_all(templates, compiled, bindings_of(world))
    return GridSpec(
        name=world.name,
        state_size=world.first_rows["state_size"],
        obs_size=world.obs_size,
        actions=Discrete(NUM_ACTIONS),
        max_episode_steps=world.ticks,
        reset=reset,
        step=step,
        observe=observe,
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
    """The sizes that a table's world is compiled for."""
    height, width = map_.kinds.shape if map_ else (section.height, section.width)
    return World(
        section.num_agents, height, width, section.num_tokens, section.max_steps, map_ is not None
    )


def settings_writer(
    section: GridConfig, world: World, map_: Map | None
) -> Callable[[Array, int, int], None]:
    """`EnvSpec.prepare`: write the settings and the map into the state, so that worlds that differ
    in them alone share machine code. A key is a setting where `layout.py` has a row of its name.
    """
    rows = {key: getattr(layout, key.upper(), None) for key in GridConfig.model_fields}

    def write_settings(state: Array, num_envs: int, stream: int) -> None:
        for key, row in rows.items():
            if row is not None:
                state[row] = getattr(section, key)
        if map_:
            first = world.first_rows["first_map_cell"]
            state[first:] = map_.kinds.reshape(-1, 1)

    return write_settings
