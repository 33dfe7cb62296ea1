"""Hosts: where environments come from. Each says which names are its own, describes an environment
and makes many of it. A further host is a further object in `HOSTS`; docs/changing.md says how.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from ..settings.own_code import user_code
from .names import (
    CONFIGURED_ENV_NAMES,
    ENV_NAMES,
    MINATAR_ENV_NAMES,
    PARTIAL_ENV_NAMES,
)
from .preprocessing.settings import AS_IT_IS, Preprocessing
from .spaces import is_atari
from .spec import EnvSpec, HostedSpec
from .workers.dividing import SERIAL, WorkerPlan, num_cores

if TYPE_CHECKING:
    from .vector import VectorEnv
    from .workers.hosted import HostedEnvs

    AnyEnvs: TypeAlias = VectorEnv | HostedEnvs

AnySpec: TypeAlias = EnvSpec | HostedSpec


class EnvSettings(Protocol):
    """The settings of a run that its environments are described by."""

    @property
    def env(self) -> str: ...

    @property
    def num_envs(self) -> int: ...

    @property
    def num_threads(self) -> int: ...

    def table(self, name: str) -> Any:
        """One of the host's `tables`."""


class Host:
    """Environments that are described and made in the same way."""

    name: str
    is_own = False  # compiled by operant: fast to step, and where a GPU is, on it
    is_drawn = True  # there are drawings of it
    tables: tuple[str, ...] = ()  # of the configuration, in `tables.TABLES`

    def matches(self, env: str) -> bool:
        """Whether the host has an environment of that name; a name with a prefix is checked when it
        is described.
        """
        return env == self.name

    def tables_of(self, env: str) -> tuple[str, ...]:
        """The tables of the configuration for one of the environments."""
        return self.tables

    def num_agents(self, settings: EnvSettings) -> int:
        """The number of agents in each environment. Raises ConfigError."""
        return 1

    def shows_vectors(self, env: str) -> bool:
        """Whether observations are known to be plain vectors, without importing anything."""
        return False

    def first_values(self, env: str) -> dict[str, Any]:
        """Settings that neutral defaults begin with, for some environments. Raises ConfigError."""
        return {}

    def describe(self, settings: EnvSettings) -> AnySpec:
        """Describe the environment of a run. Raises ConfigError."""
        return self.load(settings.env)

    def load(
        self, env: str, plan: WorkerPlan = SERIAL, preprocessing: Preprocessing = AS_IT_IS
    ) -> AnySpec:
        """Describe an environment whose tables have their defaults. Raises ConfigError."""
        raise NotImplementedError

    def make(self, spec: Any, num_envs: int, seed: int, stream: int, first_env: int) -> AnyEnvs:
        """Make environments on the processor, numbered from `first_env`, with the random numbers
        of `stream`.
        """
        raise NotImplementedError

    def make_one(self, spec: Any) -> Any:
        """One environment with its library's own interface. Raises LookupError where there are
        none.
        """
        raise LookupError(spec.name)


class Worlds(Host):
    """Operant's own environments: an `EnvSpec` each, compiled."""

    name = "operant"
    is_own = True
    images = (*MINATAR_ENV_NAMES, "image_recall")
    names = (*ENV_NAMES, *PARTIAL_ENV_NAMES, *MINATAR_ENV_NAMES, *CONFIGURED_ENV_NAMES)

    def matches(self, env: str) -> bool:
        return env in self.names

    def tables_of(self, env: str) -> tuple[str, ...]:
        if env in MINATAR_ENV_NAMES:
            return ("minatar",)
        return (env,) if env in CONFIGURED_ENV_NAMES else ()

    def num_agents(self, settings: EnvSettings) -> int:
        sections = map(settings.table, self.tables_of(settings.env))
        return next((getattr(section, "num_agents", 1) for section in sections), 1)

    def shows_vectors(self, env: str) -> bool:
        return env not in (*self.images, *CONFIGURED_ENV_NAMES)

    def describe(self, settings: EnvSettings) -> EnvSpec:
        return self._world(settings.env, *map(settings.table, self.tables_of(settings.env)))

    def load(self, env: str, *_: Any) -> EnvSpec:
        return self._world(env)

    def _world(self, env: str, *section: Any) -> EnvSpec:
        if env in MINATAR_ENV_NAMES:
            made = import_module(".minatar.game", __package__).make_spec(env, *section)
        elif env in CONFIGURED_ENV_NAMES:
            made = import_module(f".{env}.world", __package__).make_spec(*section)
        else:
            made = import_module(f".{env}", __package__).SPEC
        return cast("EnvSpec", made)

    def make(self, spec: Any, num_envs: int, seed: int, stream: int, first_env: int) -> VectorEnv:
        from .vector import VectorEnv

        return VectorEnv(spec, num_envs, seed, stream, first_env)


class Routes(Host):
    """TinyPhysics, whose steps are calls of a model: `tinyphysics_training` makes the episodes."""

    name = "tinyphysics"
    tables = "tinyphysics", "cloning"

    def shows_vectors(self, env: str) -> bool:
        return True

    def load(self, env: str, *_: Any) -> HostedSpec:
        from .tinyphysics import SPEC

        return SPEC


class Library(Host):
    """Environments of another library, `NAME:...`, stepped in this process or by workers."""

    is_drawn = False

    def __init__(
        self, name: str, tables: tuple[str, ...] = ("workers",), *, has_agents: bool = False
    ) -> None:
        """The module `workers/NAME_batch.py` has `describe(name, preprocessing)` and `make`, see
        `HostedSpec.module`. Only environments of hosts that have agents are looked at to count
        them.
        """
        self.name, self.tables, self.has_agents = name, tables, has_agents
        self.prefix, self.module = f"{name}:", f".workers.{name}_batch"

    def matches(self, env: str) -> bool:
        return env.startswith(self.prefix)

    def num_agents(self, settings: EnvSettings) -> int:
        return self.describe(settings).num_agents if self.has_agents else 1

    def describe(self, settings: EnvSettings) -> HostedSpec:
        plan, preprocessing = settings.table("workers").plan(settings.num_envs), AS_IT_IS
        if "preprocessing" in self.tables:
            preprocessing = settings.table("preprocessing").settings()
        return self.load(settings.env, plan, preprocessing)

    def load(
        self, env: str, plan: WorkerPlan = SERIAL, preprocessing: Preprocessing = AS_IT_IS
    ) -> HostedSpec:
        return replace(_described(self.module, env, preprocessing), plan=plan)

    def make(self, spec: Any, num_envs: int, seed: int, stream: int, first_env: int) -> AnyEnvs:
        from ..jit.streams import TRAINING
        from .workers.hosted import HostedEnvs

        spec = spec if stream == TRAINING else spec.for_evaluation(num_envs)
        return HostedEnvs(spec, num_envs, seed, stream, first_env)


class PettingZoo(Library):
    """PettingZoo's parallel environments."""

    def make_one(self, spec: Any) -> Any:
        from .workers.pettingzoo_batch import maker

        return maker(spec.name)()


class EnvPool(Library):
    """EnvPool's tasks."""

    def first_values(self, env: str) -> dict[str, Any]:
        from .workers.envpool_batch import is_atari_task

        return OF_ATARI if is_atari_task(env.removeprefix(self.prefix)) else {}


class Gymnasium(Library):
    """Gymnasium's environments: stepped one by one, by their own vector version, or by mjbatch."""

    is_drawn = True

    def first_values(self, env: str) -> dict[str, Any]:
        return OF_ATARI if is_atari(env) else {}

    def describe(self, settings: EnvSettings) -> HostedSpec:
        way, env = settings.table("gymnasium").vectorization, settings.env
        if way == "own":
            return _described(".from_gymnasium", env)
        by_default = not settings.table("workers").changed
        by_default &= not settings.table("preprocessing").settings().is_on
        if way == "auto" and by_default:
            from .mujoco.host import can_host

            way = "mjbatch" if can_host(env.removeprefix(self.prefix)) else "sync"
        if way == "mjbatch":
            return _described(".mujoco.host", env, settings.num_threads or num_cores())
        return super().describe(settings)

    def make(self, spec: Any, num_envs: int, seed: int, stream: int, first_env: int) -> AnyEnvs:
        if spec.stepped_by == "mjbatch":
            from .mujoco.host import MujocoEnvs

            return MujocoEnvs(spec, num_envs, seed, stream, first_env)
        return super().make(spec, num_envs, seed, stream, first_env)

    def make_one(self, spec: Any) -> Any:
        from .workers.gymnasium_batch import maker

        return maker(spec.name, preprocessing=spec.preprocessing)()


class MettaGrid(Library):
    """MettaGrid's games, which a table of the configuration describes."""

    is_drawn = True

    def matches(self, env: str) -> bool:
        return env == self.name

    def num_agents(self, settings: EnvSettings) -> int:
        return int(settings.table(self.name).num_agents)

    def load(self, env: str, plan: WorkerPlan = SERIAL, *_: Any) -> HostedSpec:
        from .mettagrid.section import MettaGridConfig
        from .mettagrid.source import describe

        return replace(describe(MettaGridConfig()), plan=plan)

    def describe(self, settings: EnvSettings) -> HostedSpec:
        from .mettagrid.source import describe

        plan = settings.table("workers").plan(settings.num_envs)
        return replace(describe(settings.table(self.name)), plan=plan)


OF_ATARI = {"preprocessing": {"protocol": "deepmind"}}

HOSTS: tuple[Host, ...] = (
    Worlds(),
    Routes(),
    MettaGrid("mettagrid", ("mettagrid", "workers")),
    Gymnasium("gymnasium", ("gymnasium", "preprocessing", "workers")),
    PettingZoo("pettingzoo", has_agents=True),
    Library("native", has_agents=True),
    EnvPool("envpool", ("preprocessing", "workers")),
)


@cache
def _described(module: str, env: str, *options: Any) -> HostedSpec:
    """Call the `describe` of a module. Cached, because it makes an environment. Raises
    ConfigError.
    """
    with user_code(f"env = '{env}': making it"):
        described = import_module(module, __package__).describe(env.partition(":")[2], *options)
    return cast("HostedSpec", described)


def describe_again() -> None:
    """Describe other libraries' environments anew: what a name stands for may have changed."""
    _described.cache_clear()


def find_host(env: str) -> Host | None:
    """The host of an environment; None if there is no such environment."""
    return next((host for host in HOSTS if host.matches(env)), None)


def host_of(env: str) -> Host:
    """The host of an environment that exists."""
    host = find_host(env)
    assert host, env
    return host


def describe(settings: EnvSettings) -> AnySpec:
    """The description of a run's environment. Raises ConfigError."""
    return host_of(settings.env).describe(settings)


def load_spec(
    env: str, plan: WorkerPlan = SERIAL, preprocessing: Preprocessing = AS_IT_IS
) -> AnySpec:
    """The description of an environment whose tables have their defaults. `plan` and
    `preprocessing` are for environments of other libraries. Raises ConfigError.
    """
    describe_again()
    return host_of(env).load(env, plan, preprocessing)


def make_envs(spec: AnySpec, num_envs: int, seed: int, stream: int, first_env: int = 0) -> AnyEnvs:
    """Environments on the processor, numbered from `first_env`, with the random numbers of
    `stream`.
    """
    host = next(host for host in HOSTS if host.name == spec.host)
    return host.make(spec, num_envs, seed, stream, first_env)
