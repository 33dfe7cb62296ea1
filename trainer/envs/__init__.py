"""Environments: one file each, and the vector environment that steps thousands of them.

A new environment is a file here that ends in its `SPEC`, and its name below; docs/changing.md says
what else goes with it.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from ..config import TrainConfig
    from .from_gymnasium import GymnasiumEnvs, GymnasiumSpec
    from .spec import EnvSpec, Spaces
    from .vector import VectorEnv
    from .workers.hosted import HostedEnvs, HostedSpec
    from .workers.plan import Plan

    AnySpec: TypeAlias = EnvSpec | GymnasiumSpec | HostedSpec
    AnyEnvs: TypeAlias = VectorEnv | GymnasiumEnvs | HostedEnvs

ENV_NAMES = ("acrobot", "cart_pole", "mountain_car", "mountain_car_continuous", "pendulum")
PARTIAL_ENV_NAMES = ("cart_pole_no_velocity",)  # which do not show all of their state
LEARNED_ENV_NAMES = ("tinyphysics",)  # whose steps are calls of a model
GYMNASIUM_PREFIX = "gymnasium:"
PETTINGZOO_PREFIX = "pettingzoo:"
NATIVE_PREFIX = "native:"
HOSTED_PREFIXES = (GYMNASIUM_PREFIX, PETTINGZOO_PREFIX, NATIVE_PREFIX)  # of other libraries
CONFIGURED_ENV_NAMES = ("grid", "marine_nav")  # which are made as a table of the configuration says
FOREIGN_ENV_NAMES = ("mettagrid",)  # likewise, of another library each
# All that `env` can be but for what begins with one of `HOSTED_PREFIXES`.
ALL_ENV_NAMES = (
    *ENV_NAMES, *PARTIAL_ENV_NAMES, *CONFIGURED_ENV_NAMES, *LEARNED_ENV_NAMES, *FOREIGN_ENV_NAMES,
)  # fmt: skip


def is_hosted(env: str) -> bool:
    """Whether an environment comes from another library, and so lives on the processor."""
    return env.startswith(HOSTED_PREFIXES) or env in FOREIGN_ENV_NAMES


def load_any_spec(name: str, plan: Plan | None = None) -> AnySpec:
    """The spec of one of `ENV_NAMES`, or of an environment of another library, which is stepped as
    `plan` says: "gymnasium:" and an id. Raises ConfigError.
    """
    if not is_hosted(name):
        return load_spec(name)
    from .workers.hosted import load_hosted_spec
    from .workers.plan import SERIAL

    return load_hosted_spec(name, plan or SERIAL)


def spec_of(config: TrainConfig) -> Spaces:
    """What a policy needs to know of a configuration's environment. Raises ConfigError."""
    if config.env in LEARNED_ENV_NAMES:
        return cast("Spaces", importlib.import_module(f".{config.env}", __name__).SPEC)
    return env_spec_of(config)


def env_spec_of(config: TrainConfig) -> AnySpec:
    """What steps the environments of a configuration. Raises ConfigError."""
    if config.env in CONFIGURED_ENV_NAMES:
        making = importlib.import_module(f".{config.env}.making", __name__)
        return cast("EnvSpec", making.make_spec(config.table(config.env)))
    if not is_hosted(config.env):
        return load_spec(config.env)
    if config.env in FOREIGN_ENV_NAMES:
        from .workers.hosted import with_plan

        source = importlib.import_module(f".{config.env}.source", __name__)
        plan = config.table("workers").plan(config.num_envs)
        return with_plan(source.source_of(config.table(config.env)), plan)
    is_gymnasium = config.env.startswith(GYMNASIUM_PREFIX)
    if is_gymnasium and config.table("gymnasium").vectorization == "own":
        from .from_gymnasium import load_gymnasium_spec

        return load_gymnasium_spec(config.env.removeprefix(GYMNASIUM_PREFIX))
    return load_any_spec(config.env, config.table("workers").plan(config.num_envs))


def num_agents_of(config: TrainConfig) -> int:
    """Agents of each environment of a configuration. Where that is one of operant's, without the
    environment's file. Raises ConfigError where it is another library's and not there.
    """
    if config.env.startswith((PETTINGZOO_PREFIX, NATIVE_PREFIX)):
        return _num_agents(config.env)
    section = getattr(config, config.env, None)
    return getattr(section, "num_agents", 1)


@cache
def _num_agents(env: str) -> int:
    """Asked again and again, and answered by making one."""
    from .workers.sources import source_of

    return source_of(env).num_agents


def make_envs(spec: AnySpec, num_envs: int, seed: int, stream: int, first_env: int = 0) -> AnyEnvs:
    """Environments `first_env` and on on the processor, with the random numbers of `stream`."""
    from .from_gymnasium import GymnasiumEnvs, GymnasiumSpec
    from .streams import TRAINING
    from .vector import VectorEnv
    from .workers.hosted import HostedEnvs, HostedSpec

    if isinstance(spec, HostedSpec):
        spec = spec if stream == TRAINING else spec.for_evaluation(num_envs)
        return HostedEnvs(spec, num_envs, seed, stream, first_env)
    if isinstance(spec, GymnasiumSpec):
        return GymnasiumEnvs(spec, num_envs, seed, stream, first_env)
    return VectorEnv(spec, num_envs, seed, stream, first_env)


def load_spec(name: str) -> EnvSpec:
    """What `VectorEnv` needs to know about the environment `name`, one of `ENV_NAMES` and
    `PARTIAL_ENV_NAMES`, or one of `CONFIGURED_ENV_NAMES` with its table's defaults.
    """
    if name in CONFIGURED_ENV_NAMES:
        return cast("EnvSpec", importlib.import_module(f".{name}.making", __name__).make_spec())
    spec: EnvSpec = importlib.import_module(f".{name}", __name__).SPEC
    return spec
