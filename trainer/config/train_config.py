"""What a run can be told, with units, ranges and defaults. Reading it from files and the command
line is in `files.py`; the tables of algorithms and environments lie with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, create_model, field_validator, model_validator

from ...shared.errors import nearest
from ..envs import (
    ALL_ENV_NAMES,
    CONFIGURED_ENV_NAMES,
    FOREIGN_ENV_NAMES,
    GYMNASIUM_PREFIX,
    HOSTED_PREFIXES,
    LEARNED_ENV_NAMES,
    is_hosted,
    num_agents_of,
    spec_of,
)
from .inspection import EpisodesConfig, GradientsConfig, TraceConfig, WeightsConfig
from .known_elsewhere import algorithm_elsewhere
from .section import AlgorithmSection, EnvSection, IgnoredSettingError, Section
from .tables import (
    CheckpointConfig,
    EvaluationConfig,
    NormalizationConfig,
    PolicyConfig,
    RanksConfig,
    RecorderConfig,
)
from .unused_settings import agents_may_be_on_a_gpu, ignored_keys, refusals

if TYPE_CHECKING:
    from ..envs.spec import ActionSpec

DEFAULT_ENV, DEFAULT_ALGORITHM = "cart_pole", "ppo"

KINDS = {"Discrete": "discrete", "MultiDiscrete": "several discrete", "Box": "continuous"}


def nearest_env(name: str, known: Iterable[str], most: int = 1) -> str:
    """`nearest`, but an id of Gymnasium's without its prefix is answered with the prefix."""
    from ..envs.spaces import knows_id  # which imports Gymnasium

    if knows_id(name):
        return f"; did you mean '{GYMNASIUM_PREFIX}{name}'?"
    return nearest(name, known, most)


class TrainConfig(Section):
    """One experiment. `config_model` adds the tables of its algorithm and its environment."""

    env: str = Field(
        DEFAULT_ENV,
        description="the environment; gymnasium: and an id of Gymnasium's, or module:function; "
        "pettingzoo: and an id, a module or module:function; native: and module:function",
    )
    algorithm: str = Field(
        DEFAULT_ALGORITHM,
        description="how the policy learns: ppo or pqn; from replay dqn, c51, qr_dqn, iqn, "
        "rainbow, ddpg, td3, sac or ac_iqn",
    )
    seed: int = Field(1, ge=0, lt=2**32, description="of everything random; 0 to 4,294,967,295")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="where environments and policy live; auto: a GPU where there is one"
    )
    num_threads: int = Field(
        0, ge=0, le=1024, description="cores to use; 0: the fastest number, measured at the start"
    )
    num_envs: int = Field(
        256, ge=1, le=2**24, description="environments stepped at once; 1 to 16,777,216"
    )
    rollout_steps: int = Field(
        32, ge=1, le=65_536, description="env steps of each environment in an iteration"
    )
    rollout: Literal["steps", "fused"] = Field(
        "steps",
        description="on a GPU; fused: a whole rollout in one kernel, for small float32 networks",
    )
    cpu_offload: bool = Field(
        False,
        description="on a GPU, of what learns from rollouts: their observations stay in pinned "
        "main memory, minibatches are copied while the one before is learned from; costs time; "
        "on the processor it saves nothing",
    )
    overlap: bool = Field(
        False,
        description="on a GPU, of ppo: the next rollout is collected while the last is learned "
        "from, so by the policy as it was one update before; importance ratios are to that policy",
    )
    compile: bool = Field(
        False,
        description="torch.compile for losses and gradients of ppo and pqn, where PyTorch learns; "
        "takes up to a minute at the start; for GPUs: on the processor it is hardly faster",
    )
    total_env_steps: int = Field(
        500_000, ge=1, le=10**15, description="env steps of the run, rounded up to whole iterations"
    )
    policy: PolicyConfig = PolicyConfig()
    normalization: NormalizationConfig = NormalizationConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
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
    def algorithm_section(self) -> Any:
        """The table of the run's algorithm, a model of `algorithms/sections/`."""
        return getattr(self, self.algorithm)

    @property
    def env_section(self) -> Any:
        """The table of the run's environment, where that has one of its name."""
        return getattr(self, self.env, None)

    def table(self, name: str) -> Any:
        """The table `name`, one that the run's algorithm or environment brings."""
        return getattr(self, name)

    @field_validator("env")
    @classmethod
    def _env_exists(cls, env: str) -> str:
        if env not in ALL_ENV_NAMES and not is_hosted(env):
            hint = nearest_env(env, ALL_ENV_NAMES)
            raise ValueError(
                f"env = '{env}' is not an environment{hint}; there are "
                f"{', '.join(ALL_ENV_NAMES)}, and gymnasium:ID, pettingzoo:MODULE and native:PATH"
            )
        return env

    @field_validator("device", mode="before")
    @classmethod
    def _device_has_no_number(cls, device: object) -> object:
        kind, colon, number = str(device).partition(":")
        if colon and kind == "cuda":
            raise ValueError(
                f"device = {device}: a process has the first GPU that it sees; use cuda, and "
                f"CUDA_VISIBLE_DEVICES={number} in its environment"
            )
        return device

    @field_validator("algorithm")
    @classmethod
    def _algorithm_exists(cls, algorithm: str) -> str:
        names = tuple(algorithm_sections())
        if algorithm not in names:
            hint = algorithm_elsewhere(algorithm) or nearest(algorithm.lower(), names)
            raise ValueError(
                f"algorithm = '{algorithm}' is not an algorithm{hint}; there are {', '.join(names)}"
            )
        return algorithm

    @model_validator(mode="after")
    def _some_are_on_the_processor(self) -> Self:
        if is_hosted(self.env) and self.device == "cuda":
            raise ValueError(f"device = cuda: {self.env} lives on the processor; use cpu")
        return self


class CheckedConfig(TrainConfig):
    """Checks that the tables of a run fit together."""

    @model_validator(mode="after")
    def _actions_suit(self) -> Self:
        is_foreign = is_hosted(self.env)
        if is_foreign or len(self.algorithm_section.action_kinds) < len(KINDS):
            self._check_that_algorithm_can_act(spec_of(self).actions)
        return self

    @model_validator(mode="after")
    def _agents_are_where_they_can_be(self) -> Self:
        if self.device == "cuda" and not agents_may_be_on_a_gpu(self):
            raise ValueError(
                f"device = cuda: {self.env} has {num_agents_of(self)} agents an environment, and "
                "only what learns from replay, with normalization.obs = false, has those on a GPU; "
                "use cpu"
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
        for key, reason in ignored_keys(self):
            *tables, name = key.split(".")
            section: Section = self
            for table in tables:
                section = getattr(section, table)
            value = getattr(section, name)
            if value != type(section).model_fields[name].default:
                raise IgnoredSettingError(key, value, reason)
        for refusal in refusals(self):
            raise ValueError(refusal)
        return self

    @model_validator(mode="after")
    def _distribution_suits_the_actions(self) -> Self:
        log_std = self.policy.initial_log_std
        is_told = log_std != PolicyConfig().initial_log_std
        if self.policy.distribution == "auto" and not is_told:
            return self
        from ..distributions import make_distribution  # torch takes a second to import

        distribution = make_distribution(spec_of(self).actions, self.policy.distribution)
        if is_told and not distribution.num_log_stds:
            raise ValueError(
                f"policy.initial_log_std = {log_std} is for gaussians, and the actions of "
                f"{self.env} are drawn from another distribution"
            )
        return self

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
    if algorithm in algorithm_sections():
        of_algorithm = algorithm_sections()[algorithm]
        sections = {algorithm: of_algorithm, **of_algorithm.tables, **sections}
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
    from ..algorithms.sections import ALGORITHM_SECTIONS  # which are made of `section.py`

    return ALGORITHM_SECTIONS


def shared_tables() -> dict[str, type[Section]]:
    """Tables that several algorithms have and others not, by name."""
    return {name: table for s in algorithm_sections().values() for name, table in s.tables.items()}


def env_sections(env: str) -> dict[str, type[Section]]:
    """The tables of an environment, by name."""
    if is_hosted(env):
        from ..envs.gymnasium_section import GymnasiumConfig
        from ..envs.workers.section import WorkersConfig

        workers: dict[str, type[Section]] = {"workers": WorkersConfig}
        if env == "mettagrid":
            from ..envs.mettagrid.section import MettaGridConfig

            return {"mettagrid": MettaGridConfig, **workers}
        return {"gymnasium": GymnasiumConfig, **workers} if _is_gymnasium(env) else workers
    if env in LEARNED_ENV_NAMES:
        from ..envs.tinyphysics.sections import CloningConfig, TinyPhysicsConfig

        return {"tinyphysics": TinyPhysicsConfig, "cloning": CloningConfig}
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
    for prefix in HOSTED_PREFIXES[::-1]:
        names = ", ".join((*(f"{other}..." for other in HOSTED_PREFIXES), *FOREIGN_ENV_NAMES))
        owners |= dict.fromkeys(env_sections(prefix), ("env", names))
    for env in FOREIGN_ENV_NAMES:
        owners[env] = ("env", env)
    owners["gymnasium"] = ("env", f"{GYMNASIUM_PREFIX}ID")
    return owners


def _is_gymnasium(env: str) -> bool:
    return env.startswith(GYMNASIUM_PREFIX)


def in_words(*kinds: str) -> str:
    """Kinds of actions as people say them."""
    return " or ".join(KINDS[kind] for kind in kinds)
