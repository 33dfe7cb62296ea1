"""Environments that a script or a notebook defines: `gymnasium:own/NAME` in a configuration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...shared.errors import ConfigError
from ...shared.text.harmless import one_line
from ..settings.own_code import name_of, own_code, register, user_code
from .checking import EnvError, reset_problem, step_problem
from .masks import MaskedSpace, sampled_action
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
    from .spaces import action_spec, import_gymnasium

    gymnasium = import_gymnasium()
    name = name_of(make)
    with user_code(f"env {name}: making it"):
        env = make()
    if not isinstance(env, gymnasium.Env):
        module = getattr(make, "__module__", "__main__")
        path = f"module:{name}, from a module" if module == "__main__" else f"{module}:{name}"
        raise ConfigError(f"env {name}: {not_an_env(env, path)}")
    try:
        for space in ("observation_space", "action_space"):
            if not isinstance(getattr(env, space, None), gymnasium.spaces.Space):
                found = one_line(repr(getattr(env, space, None)), 60)
                raise ConfigError(
                    f"env {name}: {space} = {found}, expected a space of gymnasium.spaces"
                )
        space = env.observation_space
        with user_code(f"env {name}: reset"):
            given = env.reset(seed=0)
        if problem := reset_problem(given, space):
            raise ConfigError(f"env {name}: reset {problem}")
        actions = action_spec(gymnasium, name, env.action_space)
        try:
            masked = MaskedSpace(gymnasium, space, actions, f"env {name}")
            action = sampled_action(env, masked, given[0], given[1], actions)
        except EnvError as error:
            raise ConfigError(f"env {name}: reset {error}") from None
        with user_code(f"env {name}: step"):
            given = env.step(action)
        if problem := step_problem(given, space):
            raise ConfigError(f"env {name}: step {problem}")
    except BaseException:
        with suppress(Exception):  # the fault before it is the one to tell
            env.close()
        raise
    with user_code(f"env {name}: close"):
        env.close()


def not_an_env(made: Any, path: str) -> str:
    """The error about what calling `path` gives instead of a gymnasium.Env."""
    is_parallel = hasattr(made, "possible_agents")
    instead = f"; train its agents as pettingzoo:{path}" if is_parallel else ""
    return f"calling it gives a {type(made).__name__}, expected a gymnasium.Env{instead}"
