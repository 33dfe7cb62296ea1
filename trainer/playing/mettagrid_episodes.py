"""Episodes of MettaGrid's worlds, one alone.

Episode k of a seed is the one that the environment number k of an evaluation with that seed plays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...shared.episodes.scene import Moment
from ..envs.grid.kinds import EMPTY, NAMES
from ..envs.mettagrid.source import make
from ..envs.spec import HostedSpec
from ..envs.workers.arrays import Arrays, Counters
from ..envs.workers.hosted import first_seed
from ..experiment.trained_policy import TrainedPolicy
from ..jit.streams import EVALUATION
from .drawings.grid import TRAIL, Agent, arena

KINDS = {name: kind for kind, name in NAMES.items() if name != "agent"}
TIME_LIMIT, ENDED = "time limit", "ended"


class MettaGridEpisodes:
    """Episodes of the arena, or of a game of one's own, of which walls and agents are drawn."""

    num_episodes: int | None = None

    def __init__(self, trained: TrainedPolicy) -> None:
        spec = trained.spec
        assert isinstance(spec, HostedSpec)
        self.env, self.seed = trained.config.env, trained.config.seed
        self.num_agents, self._trained = spec.num_agents, trained
        self._batch: Any = make(spec, 1, Counters(np.zeros(3), np.zeros(1, np.int64)))
        rows = spec.num_agents
        self._arrays = Arrays(
            actions=np.zeros(rows, np.int64),
            obs=np.zeros((rows, spec.obs_size), np.uint8),
            reward=np.zeros(rows, np.float32),
            terminated=np.zeros(rows, np.bool_),
            truncated=np.zeros(rows, np.bool_),
            final_obs=np.zeros((rows, spec.obs_size), np.uint8),
            valid=np.ones(rows, np.bool_),
        )
        self._batch.attach(self._arrays)

    def begin(self, seed: int, number: int) -> None:
        self._batch.reset(np.array([first_seed(seed, EVALUATION) + number], np.uint64))
        self._memory = self._trained.first_state(self.num_agents)
        self._elapsed, self._is_over = 0, False
        self._returns = np.zeros(self.num_agents)
        self._endings = [""] * self.num_agents
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(self.num_agents)]
        self._look()

    def step(self) -> bool:
        if self._is_over:
            return True
        obs = torch.from_numpy(self._arrays.obs)
        actions, self._memory = self._trained.step(obs, self._memory)
        self._arrays.actions[:] = actions.numpy()
        self._batch.step_alone()
        self._elapsed += 1
        self._returns += self._arrays.reward
        self._look()
        terminated, truncated = self._arrays.terminated, self._arrays.truncated
        self._is_over = bool((terminated | truncated).all())
        if self._is_over:
            self._endings = [ENDED if has_ended else TIME_LIMIT for has_ended in terminated]
        return self._is_over

    def _look(self) -> None:
        """The objects of the world and their cells, as they are now."""
        height, width = self._batch.extent
        self._kinds = np.full((height, width), EMPTY)
        self._held = [(0, 0, 0)] * self.num_agents
        for thing in self._batch.objects(0):
            row, column = thing["r"], thing["c"]
            if "agent_id" in thing:
                number = thing["agent_id"]
                self._places[number] = [*self._places[number][-TRAIL:], (row, column)]
                held = [int(thing.get(f"inv:{name}", 0)) for name in ("ore", "battery", "heart")]
                self._held[number] = held[0], held[1], held[2]
            elif thing["type_name"] in KINDS:
                self._kinds[row, column] = KINDS[thing["type_name"]]

    def moment(self, selected: int) -> Moment:
        agents = [
            Agent(np.array(places), *held)
            for places, held in zip(self._places, self._held, strict=True)
        ]
        view = arena(self._kinds, agents, selected)
        returns = tuple(self._returns.tolist())
        return Moment(view, self._elapsed, returns, tuple(self._endings), self._is_over)

    def close(self) -> None:
        self._batch.close()
