"""The settings of a run, with units, ranges and defaults. `files.py` reads them from files and the
command line; the tables of algorithms and environments are next to their code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from pydantic import Field, create_model, field_validator, model_validator

from ...shared.errors import nearest
from ...shared.runs.alert_rule import parse_rule
from ..envs import num_agents_of, spec_of
from ..envs.names import (
    ALL_ENV_NAMES,
    CONFIGURED_ENV_NAMES,
    ENVPOOL_PREFIX,
    FOREIGN_ENV_NAMES,
    GYMNASIUM_PREFIX,
    HOSTED_PREFIXES,
    IMAGE_ENV_NAMES,
    LEARNED_ENV_NAMES,
    MINATAR_ENV_NAMES,
    NATIVE_PREFIX,
    PETTINGZOO_PREFIX,
    is_hosted,
)
from ..settings.own_code import is_own
from ..settings.policy import PolicyConfig
from ..settings.section import AlgorithmSection, EnvSection, IgnoredSettingError, Section
from ..spaces import obs_type
from ..spaces.encoders import AUTO, ENVIRONMENT, MLP, PARTS, chosen_encoder
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
    RanksConfig,
    RecorderConfig,
    StopConfig,
    TraceConfig,
    WeightsConfig,
)

if TYPE_CHECKING:
    from ..spaces import ActionSpec

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
    """What to say of a name that is not an environment."""
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
        0, ge=0, le=1024, description="cores to use; 0: the fastest number, measured at the start"
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
    ranks: RanksConfig = RanksConfig()
    recorder: RecorderConfig = RecorderConfig()
    gradients: GradientsConfig = GradientsConfig()
    weights: WeightsConfig = WeightsConfig()
    trace: TraceConfig = TraceConfig()
    episodes: EpisodesConfig = EpisodesConfig()

    @property
    def rollout_size(self) -> int:
        """Env steps of one iteration: every agent's count."""
        return self.num_rows * self.rollout_steps

    @property
    def num_rows(self) -> int:
        """Environments, or their agents where each has several: rows of a rollout."""
        return self.num_envs * num_agents_of(self)

    @property
    def rows_in_words(self) -> str:
        """`64 environments`, with agents `64 environments x 6 agents`."""
        num_agents = num_agents_of(self)
        agents = f" x {num_agents} agents" if num_agents > 1 else ""
        return f"{self.num_envs} environments{agents}"

    @property
    def rollout_in_words(self) -> str:
        """What `rollout_size` is made of."""
        return f"{self.rows_in_words} x {self.rollout_steps} steps"

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
    def env_section(self) -> Any:
        """The table of the run's environment, where that has one of its name."""
        return getattr(self, self.env, None)

    @property
    def learns_from_replay(self) -> bool:
        return "replay" in self.algorithm_section.tables

    @property
    def encoder(self) -> str:
        """`policy.encoder`, or what `auto` chooses for the environment. Raises ConfigError for one
        that cannot read its observations.
        """
        wanted, env = self.policy.encoder, self.env
        # All other environments show vectors: no need to import them.
        has_shape = env in (*CONFIGURED_ENV_NAMES, *IMAGE_ENV_NAMES) or is_hosted(env)
        if not has_shape and wanted in (AUTO, MLP):
            return MLP
        return chosen_encoder(wanted, spec_of(self), self.learns_from_replay)

    def table(self, name: str) -> Any:
        """The table `name`, one that the run's algorithm or environment brings."""
        return getattr(self, name)

    @field_validator("env")
    @classmethod
    def _env_exists(cls, env: str) -> str:
        if env not in ALL_ENV_NAMES and not is_hosted(env):
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
    def _actions_suit(self) -> Self:
        is_foreign = is_hosted(self.env)
        if is_foreign or len(self.algorithm_section.action_kinds) < len(KINDS):
            self._check_that_algorithm_can_act(spec_of(self).actions)
        return self

    @model_validator(mode="after")
    def _encoder_reads_the_observations(self) -> Self:
        encoder = self.encoder
        if self.normalization.obs and encoder == PARTS:
            raise ValueError(
                "normalization.obs = true: observations have images, which their encoders scale; "
                "use false"
            )
        scales = self.normalization.obs and encoder not in (MLP, ENVIRONMENT)
        if scales and obs_type(spec_of(self)) is np.uint8:
            raise ValueError(
                f"normalization.obs = true: the encoder {encoder} scales bytes itself; use false"
            )
        return self

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        for name in type(self).model_fields:
            section = getattr(self, name)
            if isinstance(section, AlgorithmSection | EnvSection):
                section.check(self)
        return self

    @model_validator(mode="after")
    def _nothing_is_ignored(self) -> Self:
        for key, reason in self._ignored_keys():
            *tables, name = key.split(".")
            section: Section = self
            for table in tables:
                section = getattr(section, table)
            value = getattr(section, name)
            if value != type(section).model_fields[name].default:
                raise IgnoredSettingError(key, value, reason)
        if self.episodes.is_on and self.env.startswith(
            (PETTINGZOO_PREFIX, NATIVE_PREFIX, ENVPOOL_PREFIX)
        ):
            raise ValueError(f"[episodes]: nothing is known of how to draw {self.env}")
        return self

    @model_validator(mode="after")
    def _alerts_are_of_metrics_that_there_are(self) -> Self:
        if self.recorder.alerts:
            metrics = (*metrics_of(self), *rank_metrics(MAX_PUBLISHED_RANKS))
            names = [metric.name for metric in metrics]
            for rule in map(parse_rule, self.recorder.alerts):
                if rule.metric_of(names) is None:
                    hint = nearest(rule.metric, names)
                    raise ValueError(
                        f"alert rule '{rule.text}': the run has no metric '{rule.metric}'{hint}"
                    )
        return self

    @model_validator(mode="after")
    def _the_best_checkpoint_is_by_a_metric(self) -> Self:
        known, best = [metric.name for metric in metrics_of(self)], self.checkpoint.best
        if best not in (NO_BEST, *known) and not best.startswith("evaluation/"):
            hint = nearest(best, known)
            raise ValueError(f"checkpoint.best = {best}: the run has no such metric{hint}")
        return self

    @model_validator(mode="after")
    def _distribution_suits_the_actions(self) -> Self:
        log_std = self.policy.initial_log_std
        is_told = log_std != PolicyConfig().initial_log_std
        if self.policy.distribution == "auto" and not is_told:
            return self
        from ..policies.distributions import make_distribution  # torch takes a second to import

        distribution = make_distribution(spec_of(self).actions, self.policy.distribution)
        if is_told and not distribution.num_log_stds:
            raise ValueError(
                f"policy.initial_log_std = {log_std} is for gaussians, and the actions of "
                f"{self.env} are drawn from another distribution"
            )
        return self

    def _ignored_keys(self) -> Iterator[tuple[str, str]]:
        """Whole keys that have no effect beside the run's other settings, each with the reason:
        they must keep their defaults.
        """
        yield from self.algorithm_section.ignored_keys(self)
        if not self.policy.memory.is_on:
            yield "policy.memory.size", NO_MEMORY
            yield "policy.memory.horizon", NO_MEMORY
        if not (self.policy.hidden_sizes or self.encoder == ENVIRONMENT):
            yield "policy.activation", "there is no hidden layer, policy.hidden_sizes = []"
        if not self.episodes.is_on:
            for key in ("keep", "max_steps"):
                yield f"episodes.{key}", "no interval of episodes is set"
        if not self.evaluation.num_episodes:
            for key in ("at_return", "patience"):
                yield f"stop.{key}", NO_EVALUATIONS
            if self.checkpoint.best.startswith("evaluation/"):
                yield "checkpoint.best", NO_EVALUATIONS
        if not self.recorder.on:
            yield "recorder.wait_s", "no recorder is waited for, recorder.on = false"

    def _check_that_algorithm_can_act(self, actions: ActionSpec) -> None:
        if not self.algorithm_section.can_act(actions):
            others = [
                n for n, section in algorithm_sections().items() if section().can_act(actions)
            ]
            raise ValueError(
                f"{self.algorithm} needs {in_words(*self.algorithm_section.action_kinds)} actions; "
                f"{self.env} has {in_words(type(actions).__name__)} ones: {', '.join(others)}"
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


def env_sections(env: str) -> dict[str, type[Section]]:
    """The tables of an environment, by name."""
    if is_hosted(env):
        from ..envs.gymnasium_section import GymnasiumConfig
        from ..envs.preprocessing.section import PreprocessingConfig
        from ..envs.workers.section import WorkersConfig

        workers: dict[str, type[Section]] = {"workers": WorkersConfig}
        frames: dict[str, type[Section]] = {"preprocessing": PreprocessingConfig}
        if env == "mettagrid":
            from ..envs.mettagrid.section import MettaGridConfig

            return {"mettagrid": MettaGridConfig, **workers}
        if env.startswith(GYMNASIUM_PREFIX):
            return {"gymnasium": GymnasiumConfig, **frames, **workers}
        return {**frames, **workers} if env.startswith(ENVPOOL_PREFIX) else workers
    if env in LEARNED_ENV_NAMES:
        from ..envs.tinyphysics.sections import CloningConfig, TinyPhysicsConfig

        return {"tinyphysics": TinyPhysicsConfig, "cloning": CloningConfig}
    if env in MINATAR_ENV_NAMES:
        from ..envs.minatar.section import MinAtarConfig

        return {"minatar": MinAtarConfig}
    if env == "grid":
        from ..envs.grid.section import GridConfig

        return {"grid": GridConfig}
    if env == "marine_nav":
        from ..envs.marine_nav.section import MarineNavConfig

        return {"marine_nav": MarineNavConfig}
    return {}


def owners_of_sections() -> dict[str, tuple[str, str]]:
    """Every table that not all runs have, with the key and value of the runs that do."""
    owners = {name: ("algorithm", name) for name in algorithm_sections()}
    for name in shared_tables():
        users = [algorithm for algorithm, s in algorithm_sections().items() if name in s.tables]
        owners[name] = ("algorithm", ", ".join(users))
    for env in (*CONFIGURED_ENV_NAMES, *LEARNED_ENV_NAMES):
        owners |= dict.fromkeys(env_sections(env), ("env", env))
    owners["minatar"] = ("env", ", ".join(MINATAR_ENV_NAMES))
    for prefix in HOSTED_PREFIXES[::-1]:
        names = ", ".join((*(f"{other}..." for other in HOSTED_PREFIXES), *FOREIGN_ENV_NAMES))
        owners |= dict.fromkeys(env_sections(prefix), ("env", names))
    for env in FOREIGN_ENV_NAMES:
        owners[env] = ("env", env)
    owners["gymnasium"] = ("env", f"{GYMNASIUM_PREFIX}ID")
    owners["preprocessing"] = ("env", f"{GYMNASIUM_PREFIX}ID, {ENVPOOL_PREFIX}ID")
    return owners


def in_words(*kinds: str) -> str:
    """Kinds of actions as people say them."""
    return " or ".join(KINDS[kind] for kind in kinds)
