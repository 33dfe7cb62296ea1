"""The settings of a run, with units, ranges and defaults. `files.py` reads them from files and the
command line; the tables of algorithms and environments are next to their code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, create_model, field_validator, model_validator

from ...shared.errors import nearest
from ...shared.runs.alert_rule import parse_rule
from ..envs.hosts import AnySpec, describe, find_host, host_of
from ..envs.names import ALL_ENV_NAMES, GYMNASIUM_PREFIX
from ..settings.facts import Facts
from ..settings.own_code import is_own
from ..settings.policy import PolicyConfig
from ..settings.section import AlgorithmSection, CheckedSection, IgnoredSettingError, Section
from ..spaces import ActionSpec
from ..spaces.encoders import ENVIRONMENT, MLP, PARTS
from .env_tables import ENV_TABLES, env_sections
from .known_elsewhere import algorithm_elsewhere
from .metrics import MAX_PUBLISHED_RANKS, metrics_of, rank_metrics
from .own_algorithms import base_algorithm, section_of
from .sections import ALGORITHMS
from .tables import (
    NO_BEST,
    CheckpointConfig,
    EpisodesConfig,
    EvaluationConfig,
    GradientsConfig,
    NormalizationConfig,
    RecorderConfig,
    StopConfig,
    TraceConfig,
    WeightsConfig,
)

DEFAULT_ENV, DEFAULT_ALGORITHM = "cart_pole", "ppo"

NO_MEMORY = "policy.memory.kind = none; use lstm or gru"
NO_EVALUATIONS = "it looks at evaluations, and evaluation.num_episodes = 0"
KINDS = {"Discrete": "discrete", "MultiDiscrete": "several discrete", "Box": "continuous"}


def nearest_env(name: str, known: Iterable[str], most: int = 1) -> str:
    """`nearest`, also among Gymnasium's ids for a name that ends as they do, in `-v5`, or begins
    with a capital. An id without its version, which Gymnasium takes as well, is answered with the
    prefix.
    """
    from ..envs.spaces import is_id, known_ids, knows_id, nearest_parallel_id  # import Gymnasium

    if knows_id(name):
        return f"; did you mean '{GYMNASIUM_PREFIX}{name}'?"
    is_like_one = is_id(name) or name[:1].isupper()
    near = nearest(name, [*known, *(known_ids() if is_like_one else ())], most)
    return near or (nearest_parallel_id(name) if "/" in name else "")


def no_such_env(env: str) -> str:
    """The error about a name that is not an environment."""
    return (
        f"env = '{env}' is not an environment{nearest_env(env, ALL_ENV_NAMES)}; there are "
        f"{', '.join(ALL_ENV_NAMES)}, and gymnasium:ID, pettingzoo:MODULE, native:PATH and "
        "envpool:ID"
    )


class TrainConfig(Section):
    """One experiment. `config_model` adds the tables of its algorithm and its environment."""

    env: str = Field(
        DEFAULT_ENV,
        description="the environment: a name, a Gymnasium id, gymnasium:module:function, "
        "pettingzoo:ID, pettingzoo:MODULE, pettingzoo:module:function, native:module:function or "
        "envpool:ID",
    )
    algorithm: str = Field(
        DEFAULT_ALGORITHM,
        description=f"the learning algorithm: {', '.join(ALGORITHMS)}, or module:Class of your own",
    )
    seed: int = Field(1, ge=0, lt=2**32, description="of all random numbers; 0 to 4,294,967,295")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where environments and policy run; auto: the GPU if there is one"
    )
    num_threads: int = Field(
        0, ge=0, le=1024, description="cores to use; 0: the fastest number, measured during the run"
    )
    num_envs: int = Field(
        256, ge=1, le=2**24, description="number of parallel environments; 1 to 16,777,216"
    )
    rollout_steps: int = Field(
        32, ge=1, le=65_536, description="env steps of each environment per iteration"
    )
    rollout: Literal["steps", "fused"] = Field(
        "steps", description="on a GPU; fused: one kernel per rollout, for small float32 networks"
    )
    overlap: bool = Field(
        False,
        description="GPU, ppo only: collect the next rollout while learning from the last; the "
        "acting policy is one update old, and importance ratios refer to it",
    )
    compile: bool = Field(
        False,
        description="ppo and pqn only: compile losses and gradients with torch.compile; takes up "
        "to a minute at the start; meant for GPUs, hardly faster on the processor",
    )
    total_env_steps: int = Field(
        500_000,
        ge=1,
        le=10**15,
        description="env steps of the run, rounded up to whole iterations; those of agents that "
        "have left, and those that only reset a vector environment, do not count",
    )
    schedule_env_steps: int | None = Field(
        None,
        ge=1,
        le=10**15,
        description="env steps after which all schedules are at their ends, where that is not "
        "total_env_steps: a run that goes on for longer keeps them there",
    )
    policy: PolicyConfig = PolicyConfig()
    normalization: NormalizationConfig = NormalizationConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    stop: StopConfig = StopConfig()
    recorder: RecorderConfig = RecorderConfig()
    gradients: GradientsConfig = GradientsConfig()
    weights: WeightsConfig = WeightsConfig()
    trace: TraceConfig = TraceConfig()
    episodes: EpisodesConfig = EpisodesConfig()

    @property
    def num_agents(self) -> int:
        """The number of agents in each environment. Raises ConfigError."""
        return host_of(self.env).num_agents(self)

    @property
    def num_rows(self) -> int:
        """The rows of a rollout: one for each agent of each environment."""
        return self.num_envs * self.num_agents

    @property
    def rollout_size(self) -> int:
        """Env steps of one iteration: every agent's count."""
        return self.num_rows * self.rollout_steps

    @property
    def num_iterations(self) -> int:
        return -(-self.total_env_steps // self.rollout_size)

    @property
    def num_scheduled_iterations(self) -> int:
        """Iterations after which all schedules are at their ends."""
        return -(-(self.schedule_env_steps or self.total_env_steps) // self.rollout_size)

    @property
    def algorithm_section(self) -> Any:
        """The table of the run's algorithm, a model of `config/sections/`."""
        return getattr(self, self.base_algorithm)

    @property
    def base_algorithm(self) -> str:
        """The algorithm's name, or the name of the one that a user's class is derived from. The
        table with the algorithm's settings has that name.
        """
        return base_algorithm(self.algorithm)

    @property
    def learns_from_replay(self) -> bool:
        return "replay" in self.algorithm_section.tables

    def facts(self, spec: AnySpec | None = None) -> Facts:
        """The facts that tables are checked against and plans are made by; `spec` describes the
        environment, which is looked at when it is needed by default. Raises ConfigError.
        """
        host, section = host_of(self.env), self.algorithm_section
        names = (*section.tables, *host.tables_of(self.env))
        facts = {
            "host": host.name,
            "is_own": host.is_own,
            "shows_vectors": host.shows_vectors(self.env),
            "algorithm_table": self.base_algorithm,
            "evaluation_episodes": self.evaluation.num_episodes,
            "normalizes_obs": self.normalization.obs,
            "section": section,
            "tables": {name: self.table(name) for name in names},
            "describe": lambda: describe(self) if spec is None else spec,
        }
        same = (field.name for field in fields(Facts) if field.name not in facts)
        return Facts(**facts, **{name: getattr(self, name) for name in same})

    def table(self, name: str) -> Any:
        """The table `name`, one that the run's algorithm or environment brings."""
        return getattr(self, name)

    @field_validator("env")
    @classmethod
    def _env_exists(cls, env: str) -> str:
        if find_host(env) is None:
            raise ValueError(no_such_env(env))
        return env

    @field_validator("device", mode="before")
    @classmethod
    def _device_has_no_number(cls, device: object) -> object:
        kind, colon, number = str(device).partition(":")
        if colon and kind == "cuda":
            raise ValueError(
                f"device = {device}: a process uses the first GPU that it sees; use cuda, and set "
                f"CUDA_VISIBLE_DEVICES={number} in its environment"
            )
        return device

    @field_validator("algorithm")
    @classmethod
    def _algorithm_exists(cls, algorithm: str) -> str:
        names = tuple(algorithm_sections())
        if algorithm not in names and not is_own(algorithm):
            hint = algorithm_elsewhere(algorithm) or nearest(algorithm.lower(), names)
            raise ValueError(
                f"algorithm = '{algorithm}' is not an algorithm{hint}; there are "
                f"{', '.join(names)}, and module:Class"
            )
        return algorithm


class CheckedConfig(TrainConfig):
    """Checks that the tables of a run fit together."""

    @model_validator(mode="after")
    def _tables_fit(self) -> Self:
        facts = self.facts()
        _check_actions(facts, self.algorithm_section)
        _check_scales(facts)
        sections = [getattr(self, name) for name in type(self).model_fields]
        sections = [section for section in sections if isinstance(section, CheckedSection)]
        for section in sections:
            section.check(facts)
        for ignored in (*(s.ignored_keys(facts) for s in sections), self._ignored_keys(facts)):
            for key, reason in ignored:
                self._check_default(key, reason)
        if self.episodes.is_set and not host_of(self.env).is_drawn:
            raise ValueError(f"[episodes]: nothing is known of how to draw {self.env}")
        self._check_metrics()
        self._check_distribution(facts)
        return self

    def _check_default(self, key: str, reason: str) -> None:
        """Raises IgnoredSettingError where `key`, which has no effect, has another value."""
        *tables, name = key.split(".")
        section: Section = self
        for table in tables:
            section = getattr(section, table)
        value = getattr(section, name)
        if value != type(section).model_fields[name].default:
            raise IgnoredSettingError(key, value, reason)

    def _check_metrics(self) -> None:
        """Raises ValueError where an alert or the best checkpoint goes by an unknown metric."""
        known, best = [metric.name for metric in metrics_of(self)], self.checkpoint.best
        for rule in map(parse_rule, self.recorder.alerts):
            names = [*known, *(metric.name for metric in rank_metrics(MAX_PUBLISHED_RANKS))]
            if rule.metric_of(names) is None:
                raise ValueError(
                    f"alert rule '{rule.text}': the run has no metric '{rule.metric}'"
                    f"{nearest(rule.metric, names)}"
                )
        families = {name.partition("/")[0] for name in known}
        if best not in (NO_BEST, *known) and best.partition("/")[0] in families - {"evaluation"}:
            hint = nearest(best, known)
            raise ValueError(f"checkpoint.best = {best}: the run has no such metric{hint}")

    def _check_distribution(self, facts: Facts) -> None:
        """Raises ValueError for a distribution that does not suit the actions."""
        log_std = self.policy.initial_log_std
        is_given = log_std != PolicyConfig().initial_log_std
        if self.policy.distribution == "auto" and not is_given:
            return
        from ..policies.distributions import make_distribution  # torch takes a second to import

        distribution = make_distribution(facts.spec.actions, self.policy.distribution)
        if is_given and not distribution.num_log_stds:
            raise ValueError(
                f"policy.initial_log_std = {log_std} is for gaussians, and the actions of "
                f"{self.env} are drawn from another distribution"
            )

    def _ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        """Whole keys of shared tables that have no effect in this run, each with the reason."""
        if not self.policy.memory.is_on:
            yield "policy.memory.size", NO_MEMORY
            yield "policy.memory.horizon", NO_MEMORY
        if not (self.policy.hidden_sizes or facts.encoder == ENVIRONMENT):
            yield "policy.activation", "there is no hidden layer, policy.hidden_sizes = []"
        if not self.evaluation.num_episodes:
            for key in ("at_return", "patience"):
                yield f"stop.{key}", NO_EVALUATIONS
            if self.checkpoint.best.startswith("evaluation/"):
                yield "checkpoint.best", NO_EVALUATIONS


def _check_actions(facts: Facts, section: AlgorithmSection) -> None:
    """Raises ValueError where the algorithm cannot choose the environment's actions."""
    if facts.is_own and len(section.action_kinds) == len(KINDS):
        return
    actions: ActionSpec = facts.spec.actions
    if not section.can_act(actions):
        others = [name for name, other in algorithm_sections().items() if other().can_act(actions)]
        raise ValueError(
            f"{facts.algorithm} needs {in_words(*section.action_kinds)} actions; "
            f"{facts.env} has {in_words(type(actions).__name__)} ones; use {', '.join(others)}"
        )


def _check_scales(facts: Facts) -> None:
    """Raises ValueError where observations would be scaled twice."""
    encoder = facts.encoder  # also where nothing is scaled: it raises ConfigError
    if not facts.normalizes_obs or encoder in (MLP, ENVIRONMENT):
        return
    if encoder == PARTS:
        raise ValueError(
            "normalization.obs = true: observations have images, which their encoders scale; "
            "use false"
        )
    if facts.spec.obs_type is np.uint8:
        raise ValueError(
            f"normalization.obs = true: the encoder {encoder} scales bytes itself; use false"
        )


@cache
def config_model(algorithm: str, env: str) -> type[TrainConfig]:
    """`TrainConfig` with the tables of an algorithm and an environment, where they have any."""
    sections = env_sections(env)
    if of_algorithm := section_of(algorithm):
        sections = {base_algorithm(algorithm): of_algorithm, **of_algorithm.tables, **sections}
    defaults: dict[str, Any] = {
        "algorithm": (str, Field(algorithm, description=_description("algorithm"))),
        "env": (str, Field(env, description=_description("env"))),
        **{name: (section, section()) for name, section in sections.items()},
    }
    model: type[TrainConfig] = create_model("TrainConfig", __base__=CheckedConfig, **defaults)
    return model


def _description(key: str) -> str | None:
    return TrainConfig.model_fields[key].description


def algorithm_sections() -> Mapping[str, type[AlgorithmSection]]:
    """The tables of all algorithms, by name."""
    return {name: entry.section for name, entry in ALGORITHMS.items()}


def shared_tables() -> dict[str, type[Section]]:
    """Tables that several algorithms have and others not, by name."""
    return {name: table for s in algorithm_sections().values() for name, table in s.tables.items()}


def owners_of_sections() -> dict[str, tuple[str, str]]:
    """Every table that not all runs have, with the key and value of the runs that do."""
    owners = {name: ("algorithm", name) for name in algorithm_sections()}
    for name in shared_tables():
        users = [algorithm for algorithm, s in algorithm_sections().items() if name in s.tables]
        owners[name] = ("algorithm", ", ".join(users))
    owners |= {name: ("env", table.envs) for name, table in ENV_TABLES.items()}
    return owners


def in_words(*kinds: str) -> str:
    """Kinds of actions as people say them."""
    return " or ".join(KINDS[kind] for kind in kinds)
