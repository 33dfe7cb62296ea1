"""Environments: one file each, and the vector environment that steps thousands of them.

docs/changing.md says how to add one.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .names import (
    CONFIGURED_ENV_NAMES,
    ENVPOOL_PREFIX,
    FOREIGN_ENV_NAMES,
    GYMNASIUM_PREFIX,
    LEARNED_ENV_NAMES,
    MINATAR_ENV_NAMES,
    NATIVE_PREFIX,
    PETTINGZOO_PREFIX,
    is_hosted,
)
from .preprocessing.settings import AS_IT_IS, Preprocessing

if TYPE_CHECKING:
    from ..config import TrainConfig
    from ..spaces import Spaces
    from .from_gymnasium import GymnasiumEnvs, GymnasiumSpec
    from .spec import EnvSpec
    from .vector import VectorEnv
    from .workers.hosted import HostedEnvs, HostedSpec
    from .workers.plan import WorkerPlan

    AnySpec: TypeAlias = EnvSpec | GymnasiumSpec | HostedSpec
    AnyEnvs: TypeAlias = VectorEnv | GymnasiumEnvs | HostedEnvs


def load_any_spec(
    name: str, plan: WorkerPlan | None = None, preprocessing: Preprocessing = AS_IT_IS
) -> AnySpec:
    """The spec of one of `ENV_NAMES`, or of another library's environment ("gymnasium:" and an id)
    with the workers of `plan` and what is done to its frames. Raises ConfigError.
    """
    if not is_hosted(name):
        return load_spec(name)
    from .workers.hosted import load_hosted_spec
    from .workers.plan import SERIAL

    return load_hosted_spec(name, plan or SERIAL, preprocessing)


def shows_atari(env: str) -> bool:
    """Whether an environment is one of Atari's games. Raises ConfigError if EnvPool is missing."""
    if env.startswith(ENVPOOL_PREFIX):
        from .workers.envpool_batch import is_atari_task

        return is_atari_task(env.removeprefix(ENVPOOL_PREFIX))
    from .spaces import is_atari

    return is_atari(env)


def preprocessing_of(config: TrainConfig) -> Preprocessing:
    """What is done to the frames, rewards and episodes of a configuration's environment."""
    section = getattr(config, "preprocessing", None)
    found: Preprocessing = section.settings() if section else AS_IT_IS
    return found


def spec_of(config: TrainConfig) -> Spaces:
    """The observations and actions of a configuration's environment. Raises ConfigError."""
    if config.env in LEARNED_ENV_NAMES:
        return cast("Spaces", importlib.import_module(f".{config.env}", __name__).SPEC)
    return env_spec_of(config)


def host_of(config: TrainConfig) -> str:
    """How the environments of a configuration are stepped on the processor: "vector" for operant's
    own, "gymnasium", "mjbatch" or "workers" for those of other libraries, and "routes" for
    tinyphysics.
    """
    if config.env in LEARNED_ENV_NAMES:
        return "routes"
    if not is_hosted(config.env):
        return "vector"
    if not config.env.startswith(GYMNASIUM_PREFIX):
        return "workers"
    way = config.table("gymnasium").vectorization
    steps_alone = config.table("workers").changed or preprocessing_of(config).is_on
    if way == "auto" and not steps_alone:
        from .mujoco.host import can_host

        way = "mjbatch" if can_host(config.env.removeprefix(GYMNASIUM_PREFIX)) else "sync"
    return {"own": "gymnasium", "mjbatch": "mjbatch"}.get(way, "workers")


def env_spec_of(config: TrainConfig) -> AnySpec:
    """The spec of a configuration's environments, from which `make_envs` makes them. Raises
    ConfigError.
    """
    host = host_of(config)
    if host == "gymnasium":
        return cast("GymnasiumSpec", _looked_at(host, config.env))
    if host == "mjbatch":
        from .workers.dividing import num_cores

        threads = config.num_threads or num_cores()
        return cast("GymnasiumSpec", _looked_at(host, config.env, threads))
    if host == "workers":
        from .workers.hosted import HostedSpec

        plan = config.table("workers").plan(config.num_envs)
        if config.env in FOREIGN_ENV_NAMES:
            source = importlib.import_module(f".{config.env}.source", __name__)
            return HostedSpec(source.source_of(config.table(config.env)), plan)
        source = _looked_at(host, config.env, preprocessing_of(config))
        return HostedSpec(source, plan)
    if config.env in CONFIGURED_ENV_NAMES:
        making = importlib.import_module(f".{config.env}.making", __name__)
        return cast("EnvSpec", making.make_spec(config.table(config.env)))
    if config.env in MINATAR_ENV_NAMES:
        from .minatar.making import make_spec

        return make_spec(config.env, config.table("minatar"))
    return load_spec(config.env)


def num_agents_of(config: TrainConfig) -> int:
    """The number of agents in each environment of a configuration. For operant's own environments
    it comes from their settings, without importing the environment. Raises ConfigError if another
    library has no such environment.
    """
    if config.env.startswith((PETTINGZOO_PREFIX, NATIVE_PREFIX)):
        return cast("int", _looked_at("workers", config.env, preprocessing_of(config)).num_agents)
    section = getattr(config, config.env, None)
    return getattr(section, "num_agents", 1)


@cache
def _looked_at(host: str, env: str, *options: Any) -> Any:
    """The spec of an environment that `host` steps, for "workers" the source of one. Cached,
    because it makes an environment to look at it. Raises ConfigError.
    """
    from .checking import making

    with making(f"env = '{env}'"):
        if host == "gymnasium":
            from .from_gymnasium import load_gymnasium_spec

            return load_gymnasium_spec(env.removeprefix(GYMNASIUM_PREFIX))
        if host == "mjbatch":
            from .mujoco.host import load_mujoco_spec

            return load_mujoco_spec(env.removeprefix(GYMNASIUM_PREFIX), *options)
    from .workers.sources import source_of

    return source_of(env, *options)


def look_again() -> None:
    """Look at other libraries' environments anew: what a name stands for may have changed."""
    _looked_at.cache_clear()


def make_envs(spec: AnySpec, num_envs: int, seed: int, stream: int, first_env: int = 0) -> AnyEnvs:
    """Environments on the processor, numbered from `first_env`, with the random numbers of
    `stream`.
    """
    from ..jit.streams import TRAINING
    from .from_gymnasium import GymnasiumEnvs, GymnasiumSpec
    from .mujoco.host import MujocoEnvs, MujocoSpec
    from .vector import VectorEnv
    from .workers.hosted import HostedEnvs, HostedSpec

    if isinstance(spec, HostedSpec):
        spec = spec if stream == TRAINING else spec.for_evaluation(num_envs)
        return HostedEnvs(spec, num_envs, seed, stream, first_env)
    if isinstance(spec, MujocoSpec):
        return MujocoEnvs(spec, num_envs, seed, stream, first_env)
    if isinstance(spec, GymnasiumSpec):
        return GymnasiumEnvs(spec, num_envs, seed, stream, first_env)
    return VectorEnv(spec, num_envs, seed, stream, first_env)


def load_spec(name: str) -> EnvSpec:
    """The spec of one of operant's own environments. Those with a table of settings have its
    defaults.
    """
    if name in MINATAR_ENV_NAMES:
        from .minatar.making import make_spec

        return make_spec(name)
    if name in CONFIGURED_ENV_NAMES:
        return cast("EnvSpec", importlib.import_module(f".{name}.making", __name__).make_spec())
    spec: EnvSpec = importlib.import_module(f".{name}", __name__).SPEC
    return spec
