"""Scenarios as arrays and in files, and episodes that begin with one.

A file of scenarios is an `npz` of NumPy: `counts` [S, 3] are the numbers of robots, obstacles and
vortices of S scenarios; the other arrays are the fields of `Scenario`, concatenated.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ....shared.runs.small_file import read_small
from ...jit.compiling import compiled, specialised
from ..bindings import env_reset, observe
from ..vector import VectorEnv
from .compiled_world import MarineNavSpec, World, functions_of
from .layout import (
    GOAL_X,
    GOAL_Y,
    HEADING,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_VORTICES,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    VORTEX_SIZE,
    X,
    Y,
)

Array = NDArray[Any]

# For each array of a file: the column of `counts` with its length, and the shape of its rows.
ROWS = {
    "starts": (0, (2,)),
    "goals": (0, (2,)),
    "headings": (0, ()),
    "obstacles": (1, (3,)),
    "vortices": (2, (4,)),
}
LARGEST = 1e6  # of any number: what float32 holds to a decimetre
MOST_BYTES = 2**26  # of a file, packed and unpacked
# Evaluations play the authors' six settings, from our generator, because theirs is not public.
# They are in a file, so that all who report figures play the same ones.
SIX_SETTINGS = Path(__file__).with_name("six_settings.npz")


class Scenario(NamedTuple):
    """R robots' starts and goals [R, 2] in m and headings [R] in radians; obstacles [O, 3]: x, y,
    radius in m; vortices [V, 4]: x, y in m, 1 if clockwise, circulation in m2/s.
    """

    starts: Array
    goals: Array
    headings: Array
    obstacles: Array
    vortices: Array


def load_scenario(envs: VectorEnv, env: int, scenario: Scenario, obs: Array) -> None:
    """Begin an episode with a scenario in environment `env` of a vector environment of MarineNav;
    writes its rows of `obs` [R, D]. Raises ConfigError where there is no room.
    """
    spec = envs.spec
    assert isinstance(spec, MarineNavSpec)
    put_scenario(envs.state.fields, env, scenario, spec.world)
    envs.state.elapsed[env] = 0
    envs.state.episode[env] += 1  # with noise of its own
    envs.state.episode_return[env * spec.num_agents : (env + 1) * spec.num_agents] = 0.0
    source = envs.source
    number, episode = source.first_env + env, envs.state.episode[env]
    begin = beginning(spec.world)
    begin(envs.state.fields, env, (number, episode, source.seed, source.stream), obs)


@cache
def beginning(world: World) -> Callable[..., None]:
    """Compile `begin_with` for a world."""
    functions = functions_of(world)
    return specialised(
        begin_with,
        world.name,
        env_reset=compiled(functions.start),
        observe=compiled(functions.observe),
    )


def begin_with(fields: Any, env: Any, random: Any, obs: Any) -> None:
    """Begin an episode with the scenario in column `env`; write its rows of `obs`."""
    env_reset(fields, env, random)
    observe(fields, env, obs)


def check_room(scenario: Scenario, world: World, where: str = "a scenario") -> list[int]:
    """The numbers of robots, obstacles and vortices. Raises ConfigError where there is no room."""
    things = (scenario.starts, scenario.obstacles, scenario.vortices)
    counts = [len(thing) for thing in things]
    room = (world.robots, world.obstacles, world.vortices)
    for name, count, most in zip(("robots", "obstacles", "vortices"), counts, room, strict=True):
        if count > most:
            raise ConfigError(
                f"{where} has {count} {name}, and the run's world has room for {most}, the most "
                f"that marine_nav.num_{name} and its curriculum had"
            )
    return counts


def put_scenario(state: Array, env: int, scenario: Scenario, world: World) -> None:
    """Write a scenario into column `env` of `state`. Raises ConfigError where there is no room."""
    counts = check_room(scenario, world)
    state[[NUM_ROBOTS, NUM_OBSTACLES, NUM_VORTICES], env] = counts
    robots, obstacles, vortices = (
        state[first : first + count * size, env].reshape(count, size)
        for first, count, size in zip(
            (world.first_rows[name] for name in ("first_robot", "first_obstacle", "first_vortex")),
            counts,
            (ROBOT_SIZE, OBSTACLE_SIZE, VORTEX_SIZE),
            strict=True,
        )
    )
    robots[:, [X, Y]], robots[:, [GOAL_X, GOAL_Y]] = scenario.starts, scenario.goals
    robots[:, HEADING] = scenario.headings
    obstacles[:], vortices[:] = scenario.obstacles, scenario.vortices


def write_scenarios(path: Path, scenarios: Sequence[Scenario]) -> None:
    """Write a file that `read_scenarios` reads."""
    counts = np.array([[len(s.starts), len(s.obstacles), len(s.vortices)] for s in scenarios])
    lists: dict[str, Any] = {
        key: np.concatenate([getattr(s, key) for s in scenarios]) for key in ROWS
    }
    with path.open("wb") as file:
        np.savez_compressed(file, counts=counts, **lists)


def read_scenarios(path: Path) -> list[Scenario]:
    """All scenarios of a file. Raises ConfigError: one line that says what is wrong."""
    try:
        content = read_small(path, MOST_BYTES)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    try:
        with np.load(io.BytesIO(content)) as file:
            if sum(part.file_size for part in file.zip.infolist()) > MOST_BYTES:
                raise MemoryError
            arrays = {key: file[key] for key in ("counts", *ROWS)}
    except KeyError as error:
        raise ConfigError(f"{path}: has no array {error.args[0]}") from None
    except MemoryError:  # also where an array says that it is larger than it is
        raise ConfigError(f"{path} has more than {MOST_BYTES} bytes of scenarios") from None
    except (EOFError, OSError, TypeError, ValueError, zipfile.BadZipFile, zlib.error):
        raise ConfigError(f"{path} is not a file of scenarios, an npz of NumPy") from None
    counts = arrays.pop("counts")
    if counts.dtype.kind != "i" or counts.shape[1:] != (3,) or not (counts >= (1, 0, 0)).all():
        raise ConfigError(
            f"{path}: counts are whole numbers of robots, obstacles and vortices, a row for each "
            "scenario, with one robot at least"
        )
    ends = counts.cumsum(0)
    parts = []
    for key, (column, shape) in ROWS.items():
        expected = (int(counts[:, column].sum()), *shape)
        rows = arrays[key]
        if rows.shape != expected or rows.dtype.kind not in "fi":
            raise ConfigError(f"{path}: {key} must be numbers of the shape {expected}")
        if not (np.abs(rows) <= LARGEST).all():
            raise ConfigError(f"{path}: {key} must be finite, and none beyond {LARGEST:g}")
        parts.append(np.split(rows, ends[:-1, column]))
    if (arrays["obstacles"][:, 2] <= 0).any():
        raise ConfigError(f"{path}: radii of obstacles must be above 0")
    return [Scenario(*fields) for fields in zip(*parts, strict=True)]


def six_settings(world: World) -> list[Scenario]:
    """The scenarios of the six settings that fit a world; none where it has vortices."""
    if world.vortices:
        return []
    return [
        scenario
        for scenario in all_scenarios()
        if len(scenario.starts) <= world.robots and len(scenario.obstacles) <= world.obstacles
    ]


@cache
def all_scenarios() -> Sequence[Scenario]:
    return read_scenarios(SIX_SETTINGS)
