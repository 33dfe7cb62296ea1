"""Environments that a script or a notebook defines: `gymnasium:own/NAME` in a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...shared.errors import ConfigError
from ...shared.text.harmless import one_line
from ..settings.own_code import MOST_SAID, name_of, own_code, register
from .names import GYMNASIUM_PREFIX

MakeEnv = Callable[[], Any]


def register_own(make: MakeEnv, name: str = "") -> str:
    """Register `make`; returns its name for `env` in a configuration. See `register`."""
    return GYMNASIUM_PREFIX + register(make, name)


def own_env(name: str) -> MakeEnv | None:
    """The class or function registered as `name`, such as `own/Line`; None for names without the
    prefix. Raises ConfigError if this process does not know it.
    """
    setting = f"env = '{GYMNASIUM_PREFIX}{name}'"
    return own_code(name, setting, "env", "train gymnasium:MODULE:NAME")


def check_own(make: MakeEnv) -> None:
    """Make one, reset it and take a step. Raises ConfigError, a line that names the environment,
    its method, what it gave and what is expected.
    """
    from .spaces import import_gymnasium

    gymnasium = import_gymnasium()
    name = name_of(make)
    env = _called(name, "making it", make)
    if not isinstance(env, gymnasium.Env):
        raise ConfigError(
            f"env {name}: calling it gives a {type(env).__name__}, expected a gymnasium.Env"
        )
    try:
        for space in ("observation_space", "action_space"):
            if not isinstance(getattr(env, space, None), gymnasium.spaces.Space):
                found = one_line(repr(getattr(env, space, None)), 60)
                raise ConfigError(
                    f"env {name}: {space} = {found}, expected a space of gymnasium.spaces"
                )
        given = _called(name, "reset", lambda: env.reset(seed=0))
        if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], Mapping):
            raise ConfigError(
                f"env {name}: reset gives {_in_words(given)}, expected a tuple (obs, info)"
            )
        _check_obs(name, "reset", given[0], env.observation_space)
        env.action_space.seed(0)
        action = env.action_space.sample()
        given = _called(name, "step", lambda: env.step(action))
        if not isinstance(given, tuple) or len(given) != 5:
            raise ConfigError(
                f"env {name}: step gives {_in_words(given)}, expected a tuple (obs, reward, "
                "terminated, truncated, info)"
            )
        _check_obs(name, "step", given[0], env.observation_space)
        _check_step(name, *given[1:4])
    finally:
        env.close()


def _called(name: str, method: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        said = one_line(f"{type(error).__name__}: {error}", MOST_SAID)
        raise ConfigError(f"env {name}: {method} fails: {said}") from error


def _check_obs(name: str, method: str, obs: Any, space: Any) -> None:
    import numpy as np

    if not hasattr(space, "spaces"):  # Dict and Tuple have arrays inside
        found = np.asarray(obs)
        if found.dtype == object or found.shape != space.shape:
            raise ConfigError(
                f"env {name}: {method} gives an observation of shape {found.shape}, and "
                f"observation_space has {space.shape}"
            )
        if np.issubdtype(space.dtype, np.integer) and np.issubdtype(found.dtype, np.floating):
            raise ConfigError(
                f"env {name}: {method} gives an observation of {found.dtype}, and "
                f"observation_space has {space.dtype}"
            )
        if np.issubdtype(found.dtype, np.floating) and not np.isfinite(found).all():
            raise ConfigError(
                f"env {name}: {method} gives an observation with NaN or infinity: "
                f"{one_line(str(obs), 100)}"
            )


def _check_step(name: str, reward: Any, terminated: Any, truncated: Any) -> None:
    import numpy as np

    try:
        number = float(reward)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ConfigError(
            f"env {name}: step gives the reward {one_line(repr(reward), 60)}, expected a finite "
            "number"
        )
    for key, flag in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(flag, bool | np.bool_):
            raise ConfigError(
                f"env {name}: step gives {key} = {one_line(repr(flag), 60)}, expected True or False"
            )


def _in_words(given: Any) -> str:
    if isinstance(given, tuple):
        return f"a tuple of {len(given)}"
    return f"a {type(given).__name__}"
