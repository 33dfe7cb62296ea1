"""The facts of a run that the tables of its configuration are checked against."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..spaces import Spaces
from ..spaces.encoders import AUTO, MLP, chosen_encoder


@dataclass(frozen=True)
class Facts:
    """Names and sizes of a run, its policy, and the tables of its algorithm and environment.

    `algorithm` is a name or `module:Class`, `algorithm_table` the name of the table with its
    settings. `host` names the host of the environment, `is_own` says whether operant compiles it.
    `num_rows` counts the rows of a rollout, one for each agent of each environment, `rollout_size`
    the env steps of an iteration; `num_scheduled_iterations` end all schedules.

    `describe` is called for what only the environment knows: `spec`, and perhaps `encoder`. Both
    raise ConfigError.
    """

    env: str
    host: str
    is_own: bool
    shows_vectors: bool  # known without `spec`
    algorithm: str
    algorithm_table: str
    learns_from_replay: bool
    device: str  # auto, cpu or cuda
    num_threads: int
    rollout: str
    overlap: bool
    compile: bool
    num_envs: int
    num_agents: int
    num_rows: int
    rollout_steps: int
    rollout_size: int
    num_iterations: int
    num_scheduled_iterations: int
    evaluation_episodes: int
    normalizes_obs: bool
    policy: Any  # the table [policy]
    section: Any  # the table of the algorithm
    tables: Mapping[str, Any]  # others that the algorithm or the environment brings
    describe: Callable[[], Spaces]

    @cached_property
    def spec(self) -> Spaces:
        """The description of the environment."""
        return self.describe()

    @cached_property
    def encoder(self) -> str:
        """`policy.encoder`, or the one that `auto` chooses for the environment."""
        if self.shows_vectors and self.policy.encoder in (AUTO, MLP):
            return MLP
        return chosen_encoder(self.policy.encoder, self.spec, self.learns_from_replay)

    @property
    def rows_in_words(self) -> str:
        """`64 environments`, with agents `64 environments x 6 agents`."""
        agents = f" x {self.num_agents} agents" if self.num_agents > 1 else ""
        return f"{self.num_envs} environments{agents}"

    @property
    def rollout_in_words(self) -> str:
        """`64 environments x 6 agents x 128 steps`: the factors of `rollout_size`."""
        return f"{self.rows_in_words} x {self.rollout_steps} steps"
