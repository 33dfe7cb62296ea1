"""Worlds of MettaGrid as a batch, which write into the arrays that they are given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.text.harmless import one_line
from ..checking import EnvError
from ..grid.kinds import TOKEN_SIZE
from ..grid.maps import drawn
from ..grid.section import COUNTS
from ..spec import HostedSpec
from ..workers.arrays import Arrays, Counters
from .library import library

MOST_SEED = 2**31
CELLS = np.array(["empty", "wall", "mine", "generator", "altar", "agent.agent"], object)


class MettaGridBatch:
    """Worlds one after the other, each over slices of the arrays: nothing is copied.

    The compiled core is stepped itself. The `Simulator` around it takes half as long again for
    each step, and six times as long for a new world; its wrapper for trainers shows no first
    observation, and carries out the last action of an episode in the next one.

    A world's episodes depend on its seed alone, however many there are.
    """

    def __init__(self, num_envs: int, game: Any, spec: HostedSpec, counters: Counters) -> None:
        self.obs_size, self.actions = spec.obs_size, spec.actions
        self.num_agents, self._current = spec.num_agents, counters.current
        self._library, self._game, self._section = library(), game, spec.section
        self._core, self._names = self._library.converted(game)
        self._map = None if spec.section.config else spec.section.read_map()
        self._worlds: list[Any] = [None] * num_envs
        self._randoms = [np.random.default_rng(0)] * num_envs
        self._actions = np.zeros((num_envs, self.num_agents), np.int32)
        self._other_actions = np.zeros((num_envs, self.num_agents), np.int32)

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays
        by_env = (len(self._worlds), self.num_agents)
        self._obs = arrays.obs.reshape(*by_env, -1, TOKEN_SIZE)
        flags = (arrays.terminated, arrays.truncated, arrays.reward)
        self._flags = [array.reshape(by_env) for array in flags]

    def reset(self, seeds: NDArray[Any]) -> None:
        for env, seed in enumerate(seeds.tolist()):
            self._current[0] = env
            self._randoms[env] = np.random.default_rng(seed)
            self._begin(env)

    def step(self) -> None:
        a = self._arrays
        self.step_alone()
        terminated, truncated, _ = self._flags
        for env in np.flatnonzero((terminated | truncated).all(1)).tolist():
            rows = slice(env * self.num_agents, (env + 1) * self.num_agents)
            a.final_obs[rows] = a.obs[rows]
            kept = [array[env].copy() for array in self._flags]
            self._begin(env)
            for array, values in zip(self._flags, kept, strict=True):
                array[env] = values

    def step_alone(self) -> None:
        """A step, and no new world where an episode ends."""
        a = self._arrays
        self._actions.reshape(-1)[:] = a.actions
        for array in (a.terminated, a.truncated):
            array[:] = False  # which worlds only ever set
        with self._errors_of_the_core():
            for env, world in enumerate(self._worlds):
                self._current[0] = env
                world.step()

    def _begin(self, env: int) -> None:
        """A new world in place of the old: writes its first observations, and clears its flags."""
        world = self._world(self._randoms[env])
        terminated, truncated, reward = (array[env] for array in self._flags)
        world.set_buffers(
            self._obs[env],
            terminated,
            truncated,
            reward,
            self._actions[env],
            self._other_actions[env],
        )
        self._worlds[env] = world

    def _world(self, random: np.random.Generator) -> Any:
        cells = self._cells(random)
        if self._names:
            cells = self._library.with_agents(cells, self._names)
        with self._errors_of_the_core():
            return self._library.Simulation(self._core, cells, int(random.integers(MOST_SEED)))

    @contextmanager
    def _errors_of_the_core(self) -> Iterator[None]:
        """Turn an error of the compiled core into an EnvError of one line."""
        try:
            yield
        except RuntimeError as error:
            text = one_line(str(error), 200)
            if "token budget" in text:
                where = "game.obs" if self._section.config else "mettagrid"
                text = f"{where}.num_tokens = {self._game.obs.num_tokens} is too small: {text}"
            raise EnvError(f"env = 'mettagrid': {text}") from None

    def _cells(self, random: np.random.Generator) -> list[list[str]]:
        """The map of an episode, in the library's words."""
        section = self._section
        if section.config:
            builder = self._game.map_builder
            if "seed" in type(builder).model_fields:
                builder = builder.model_copy(update={"seed": int(random.integers(MOST_SEED))})
            built = builder.create().build_for_num_agents(self.num_agents)
            found: list[list[str]] = built.grid.tolist()
            return found
        if self._map:
            kinds = self._map.kinds
        else:
            walls, mines, generators, altars, agents = (getattr(section, key) for key in COUNTS)
            counts = walls, mines, generators, altars, agents
            kinds = drawn(section.height, section.width, counts, random)
        words: list[list[str]] = CELLS[kinds].tolist()
        return words

    def check(self) -> None:
        """Make a world. Raises EnvError, and what the library raises."""
        self._world(np.random.default_rng(0))

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the first world."""
        return self._worlds[0].map_height, self._worlds[0].map_width

    def objects(self, env: int) -> list[dict[str, Any]]:
        """What lies where in a world, in the library's words."""
        return list(self._worlds[env].grid_objects().values())

    def close(self) -> None:
        self._worlds.clear()
