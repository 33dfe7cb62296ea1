"""Environments: one file each, and the vector environment that steps thousands of them.

A new environment is a file here that ends in its `SPEC`, and its name below.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ..config import TrainConfig
    from .from_gymnasium import GymnasiumEnvs, GymnasiumSpec, Vectorization
    from .spec import EnvSpec, Spaces
    from .vector import VectorEnv

ENV_NAMES = ("acrobot", "cart_pole", "mountain_car", "mountain_car_continuous", "pendulum")
LEARNED_ENV_NAMES = ("tinyphysics",)  # whose steps are calls of a model
GYMNASIUM_PREFIX = "gymnasium:"
CONFIGURED_ENV_NAMES = ("marine_nav",)  # which are made as a table of the configuration says


def load_any_spec(name: str, vectorization: Vectorization = "sync") -> EnvSpec | GymnasiumSpec:
    """The spec of one of `ENV_NAMES`, or of "gymnasium:" and the id of an environment of
    Gymnasium's, which may be vectorised in different ways. Raises ConfigError.
    """
    if not name.startswith(GYMNASIUM_PREFIX):
        return load_spec(name)
    from .from_gymnasium import load_gymnasium_spec

    return load_gymnasium_spec(name.removeprefix(GYMNASIUM_PREFIX), vectorization)


def spec_of(config: TrainConfig) -> Spaces:
    """What a policy needs to know of a configuration's environment. Raises ConfigError."""
    if config.env in LEARNED_ENV_NAMES:
        return cast("Spaces", importlib.import_module(f".{config.env}", __name__).SPEC)
    return env_spec_of(config)


def env_spec_of(config: TrainConfig) -> EnvSpec | GymnasiumSpec:
    """What steps the environments of a configuration. Raises ConfigError."""
    if config.env in CONFIGURED_ENV_NAMES:
        making = importlib.import_module(f".{config.env}.making", __name__)
        return cast("EnvSpec", making.make_spec(config.table(config.env)))
    if not config.env.startswith(GYMNASIUM_PREFIX):
        return load_spec(config.env)
    return load_any_spec(config.env, config.table("gymnasium").vectorization)


def num_agents_of(config: TrainConfig) -> int:
    """Agents of each environment of a configuration; known without the environment's file."""
    section = getattr(config, config.env, None)
    return getattr(section, "num_agents", 1)


def make_envs(
    spec: EnvSpec | GymnasiumSpec, num_envs: int, seed: int, stream: int, first_env: int = 0
) -> VectorEnv | GymnasiumEnvs:
    """Environments `first_env` and on on the processor, with the random numbers of `stream`."""
    from .from_gymnasium import GymnasiumEnvs, GymnasiumSpec
    from .vector import VectorEnv

    if isinstance(spec, GymnasiumSpec):
        return GymnasiumEnvs(spec, num_envs, seed, stream, first_env)
    return VectorEnv(spec, num_envs, seed, stream, first_env)


def load_spec(name: str) -> EnvSpec:
    """What `VectorEnv` needs to know about the environment `name`, one of `ENV_NAMES`, or one of
    `CONFIGURED_ENV_NAMES` with its table's defaults.
    """
    if name in CONFIGURED_ENV_NAMES:
        return cast("EnvSpec", importlib.import_module(f".{name}.making", __name__).make_spec())
    spec: EnvSpec = importlib.import_module(f".{name}", __name__).SPEC
    return spec
