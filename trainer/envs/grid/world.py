"""The `EnvSpec` of the grid world: the sizes that it is compiled for, and its settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ...jit.compiling import compiled
from ...jit.templates import rebound_all
from ...spaces import Discrete
from ..spec import Array, EnvSpec
from . import environment, layout, observing
from .kinds import NUM_ACTIONS, REACH, TOKEN_SIZE
from .layout import AGENT_SIZE, WORLD_SIZE
from .maps import Map
from .section import ArenaSection, GridConfig

FARTHEST = 26  # squared distance of cells in the window: its corners are not seen


class World(NamedTuple):
    """The sizes that a grid world is compiled for."""

    agents: int = 4
    height: int = 32
    width: int = 32
    tokens: int = 64
    ticks: int = 1000
    has_map: bool = False

    @property
    def name(self) -> str:
        """A name that differs from those of all other worlds."""
        suffix = "_map" if self.has_map else ""
        return f"grid_{self.agents}_{self.height}x{self.width}_{self.tokens}_{self.ticks}{suffix}"

    @property
    def stride(self) -> int:
        return self.width + 2 * REACH

    @property
    def first_rows(self) -> dict[str, int]:
        """The rows of the state in which its lists begin, and the number of all rows."""
        cells = WORLD_SIZE + self.agents * AGENT_SIZE
        map_row = cells + (self.height + 2 * REACH) * self.stride
        return {
            "first_agent": WORLD_SIZE,
            "first_cell": cells,
            "first_map_cell": map_row,
            "state_size": map_row + self.height * self.width * self.has_map,
        }


def bindings_of(world: World) -> dict[str, Any]:
    """The values of the names in `bindings.py`."""
    rows, columns = window()
    stride = world.stride
    return {
        **world.first_rows,
        "num_agents": world.agents,
        "num_tokens": world.tokens,
        "height": world.height,
        "width": world.width,
        "stride": stride,
        "max_ticks": world.ticks,
        "steps_of_actions": np.array([0, -stride, stride, -1, 1], np.int32),
        "window_steps": (rows * stride + columns).astype(np.int32),
        "window_cells": ((rows + REACH) << 4 | (columns + REACH)).astype(np.uint8),
        "lay_out": environment.copy_map if world.has_map else environment.draw_map,
    }


def window() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of all visible cells relative to the agent's, sorted by distance in steps,
    then row by row.
    """
    rows, columns = (x.ravel() for x in np.mgrid[-REACH : REACH + 1, -REACH : REACH + 1])
    is_seen = rows**2 + columns**2 <= FARTHEST
    rows, columns = rows[is_seen], columns[is_seen]
    order = np.lexsort((columns, rows, abs(rows) + abs(columns)))
    return rows[order], columns[order]


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
        obs_size=world.tokens * TOKEN_SIZE,
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
