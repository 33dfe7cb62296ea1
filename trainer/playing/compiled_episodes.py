"""Episodes of operant's own environments, one environment alone.

Episode k of a seed is the one that the environment number k of an evaluation with that seed plays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...shared.episodes.scene import Moment
from ..envs.bindings import env_reset, env_step, env_step_agents, observe
from ..envs.spec import EnvSpec
from ..envs.stepping import compiled_functions
from ..envs.vector import empty_fields
from ..experiment.trained_policy import TrainedPolicy
from ..jit.compiling import specialised
from ..jit.streams import EVALUATION
from .drawings import load_drawing

TIME_LIMIT = "time limit"
ENDED = "ended"
KEPT_AT_FIRST = 512  # states of an episode there is room for, before there is need of more


def begin_alone(fields, random, obs):  # type: ignore[no-untyped-def]
    """Begin an episode in the one column of `fields` [state_size, 1]; writes `obs` [A, D]."""
    env_reset(fields, 0, random)
    observe(fields, 0, obs)


def step_alone(fields, random, actions, reward, terminated, valid, obs):  # type: ignore[no-untyped-def]
    """Step an environment of one agent, and leave it as it is where the episode ends."""
    reward[0], terminated[0] = env_step(fields, 0, actions[0])
    observe(fields, 0, obs)
    return terminated[0]


def step_agents_alone(fields, random, actions, reward, terminated, valid, obs):  # type: ignore[no-untyped-def]
    """Likewise where an environment has several; returns whether the episode is over for all."""
    is_over = env_step_agents(fields, 0, random, actions, reward, terminated, valid)
    observe(fields, 0, obs)
    return is_over


class CompiledEpisodes:
    """Episodes of an environment that is compiled scalar functions."""

    num_episodes: int | None = None

    def __init__(self, trained: TrainedPolicy) -> None:
        spec = trained.spec
        assert isinstance(spec, EnvSpec)
        self.env, self.seed = trained.config.env, trained.config.seed
        self._trained, self._spec = trained, spec
        self._draw = load_drawing(self.env)
        self.num_agents = agents = spec.num_agents
        functions = compiled_functions(spec)
        template = step_alone if agents == 1 else step_agents_alone
        self._begin = specialised(begin_alone, spec.name, **functions)
        self._step = specialised(template, spec.name, **functions)
        self._obs = np.zeros((agents, spec.obs_size), spec.obs_type)
        self._reward = np.zeros(agents, np.float32)
        self._terminated, self._valid = np.zeros(agents, np.bool_), np.ones(agents, np.bool_)

    def begin(self, seed: int, number: int) -> None:
        spec = self._spec
        self._fields = empty_fields(spec, 1, EVALUATION)
        self._random = (np.int64(number), np.int64(0), np.uint64(seed), np.uint64(EVALUATION))
        self._begin(self._fields, self._random, self._obs)
        self._states = np.zeros((KEPT_AT_FIRST, spec.state_size), np.float32)
        self._states[0] = self._fields[:, 0]
        self._elapsed, self._is_over = 0, False
        self._memory = self._trained.first_state(self.num_agents)
        self._returns = np.zeros(self.num_agents)
        self._endings = [""] * self.num_agents

    def step(self) -> bool:
        if self._is_over:
            return True
        obs = torch.from_numpy(self._obs)
        actions, self._memory = self._trained.step(obs, self._memory)
        is_over = self._step(
            self._fields, self._random, actions.numpy(), self._reward, self._terminated,
            self._valid, self._obs,
        )  # fmt: skip
        self._elapsed += 1
        self._remember()
        self._returns[self._valid] += self._reward[self._valid]
        self._is_over = bool(is_over) or self._elapsed >= self._spec.max_episode_steps
        for agent in np.flatnonzero(self._valid):
            if self._terminated[agent]:
                self._endings[agent] = ENDED
            elif self._is_over:
                self._endings[agent] = TIME_LIMIT
        return self._is_over

    def moment(self, selected: int) -> Moment:
        scene = self._draw(self._spec, self._states[: self._elapsed + 1], selected)
        # What an environment calls it says more than that it ended.
        names = scene.endings or self._endings
        endings = [
            name if own == ENDED else own for own, name in zip(self._endings, names, strict=False)
        ]
        returns = tuple(self._returns[: len(endings)].tolist())
        return Moment(scene, self._elapsed, returns, tuple(endings), self._is_over)

    def close(self) -> None:
        """There is nothing to close."""

    def _remember(self) -> None:
        states: NDArray[Any] = self._states
        if self._elapsed == len(states):
            self._states = np.concatenate([states, np.zeros_like(states)])
        self._states[self._elapsed] = self._fields[:, 0]
