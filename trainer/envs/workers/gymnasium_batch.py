"""Gymnasium's environments, one after the other, as a batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ...settings.importing import import_from_here, imported
from ...settings.own_code import PREFIX as OWN_PREFIX
from ...settings.own_code import pickled_own, take_pickled
from ...spaces import ANY_NUMBERS, ActionSpec, ObsType, choices_of
from ...spaces.encoders import Part
from ..checking import EnvError, obs_problem, reset_problem, reward_problem, step_problem
from ..masks import mask_of, offers_masks
from ..own_envs import own_env
from ..space_rows import ObsRows, env_action
from ..spaces import action_spec, aligned, first_line, import_gymnasium, seen_in
from .arrays import Arrays, Counters


@dataclass(frozen=True)
class GymnasiumSource:
    """How the environments of an id of Gymnasium's are made, or those of `module:function`, which
    gives one; here and in a worker. `own/NAME` is one that a script or a notebook defines.
    """

    name: str
    obs_size: int
    actions: ActionSpec
    registered: bytes = b""  # what this process knows of the id, for workers
    num_agents: int = 1
    can_restart: bool = True
    obs_type: ObsType = np.float32
    obs_shape: tuple[int, ...] = ()
    obs_range: tuple[float, float] = ANY_NUMBERS
    obs_parts: tuple[Part, ...] = ()
    mask_size: int = 0  # of these, the last of `obs_size` columns
    obs_stack: int = 1  # frames of an observation
    obs_space: Any = field(default=None, compare=False)
    action_space: Any = field(default=None, compare=False)

    @classmethod
    def of(cls, name: str) -> GymnasiumSource:
        """Look at one copy of the environment. Raises ConfigError where it cannot be trained on."""
        gymnasium = import_gymnasium()
        wrong = f"env = 'gymnasium:{name}'"
        try:
            env = maker(name)()
        except (gymnasium.error.Error, ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"{wrong}: {first_line(error)}") from None
        if not isinstance(env, gymnasium.Env):
            raise ConfigError(f"{wrong}: it returns a {type(env).__name__}, not a gymnasium.Env")
        seen = seen_in(gymnasium, wrong, env.observation_space)
        actions = action_spec(gymnasium, f"gymnasium:{name}", env.action_space)
        choices = choices_of(actions)
        mask_size = sum(choices) if choices and offers_masks(env) else 0
        env.close()
        seen["obs_size"] += mask_size
        if "obs_parts" in seen and seen.get("obs_type") is np.uint8:  # packed rows
            seen["obs_size"] = aligned(seen["obs_size"])
        seen |= {"obs_space": env.observation_space, "action_space": env.action_space}
        return cls(name, actions=actions, mask_size=mask_size, obs_stack=stack_of(env), **seen)

    def for_workers(self) -> GymnasiumSource:
        """With what only this process may know: environments that it registered itself."""
        if is_factory(self.name):
            return self
        if own_env(self.name):
            return replace(self, registered=pickled_own([self.name]))
        import cloudpickle  # which Gymnasium requires

        return replace(self, registered=cloudpickle.dumps(import_gymnasium().spec(self.name)))

    def make(self, num_envs: int, counters: Counters) -> GymnasiumBatch:
        make = maker(self.name, self.registered)
        envs: list[Any] = []
        try:
            for env in range(num_envs):
                counters.current[0] = env
                envs.append(make())
        except BaseException:
            for each in envs:
                each.close()
            raise
        return GymnasiumBatch(envs, self, counters)


def is_factory(name: str) -> bool:
    """Whether `name` is `module:function`. `module:Env-v0` is an id that Gymnasium knows once the
    module is imported.
    """
    module, colon, function = name.rpartition(":")
    # The module is imported here, whatever `function` is: Gymnasium would import it unasked.
    return bool(colon) and callable(getattr(import_from_here(module), function, None))


def maker(name: str, registered: bytes = b"") -> Callable[[], Any]:
    """What gives one environment at every call."""
    if registered and name.startswith(OWN_PREFIX):
        take_pickled(registered)
    elif registered:
        spec = pickle.loads(registered)
        return lambda: import_gymnasium().make(spec)
    if own := own_env(name):
        return own
    if is_factory(name):
        made: Callable[[], Any] = imported("env", name)
        return made
    return lambda: import_gymnasium(name).make(name)


def flattened(env: Any) -> Any:
    """The environment with vectors as observations."""
    gymnasium = import_gymnasium()
    space = env.observation_space
    is_flat = isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1
    return env if is_flat else gymnasium.wrappers.FlattenObservation(env)


def stack_of(env: Any) -> int:
    """The frames of an observation, if Gymnasium's own wrapper stacks arrays and pads the stack
    with an episode's first; else 1. Wrappers that leave observations alone may be around it.
    """
    wrappers = import_gymnasium().wrappers
    alone = wrappers.TimeLimit, wrappers.OrderEnforcing, wrappers.PassiveEnvChecker
    while isinstance(env, (*alone, wrappers.RecordEpisodeStatistics)):
        env = env.env
    is_stack = isinstance(env, wrappers.FrameStackObservation) and env.padding_type == "reset"
    return int(env.stack_size) if is_stack and env.observation_space.shape else 1


def is_finite(numbers: NDArray[Any]) -> bool:
    """Whether there is neither NaN nor infinity in them."""
    return bool(np.isfinite(numbers).all())


class GymnasiumBatch:
    """Environments one after the other, each reset in the step in which its episode ends."""

    num_agents = 1

    def __init__(self, envs: list[Any], source: GymnasiumSource, counters: Counters) -> None:
        self.obs_size, self.actions = source.obs_size, source.actions
        self._envs, self._name, self._rows = envs, source.name, ObsRows(source)
        self._space, self._action_space = source.obs_space, source.action_space
        self._is_nested = hasattr(source.action_space, "spaces")  # looking every time takes longer
        self._current = counters.current
        self._row_size = self._rows.row_size
        self._choices = choices_of(source.actions) if source.mask_size else ()

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def reset(self, seeds: NDArray[Any]) -> None:
        for number, seed in enumerate(seeds.tolist()):
            self._current[0] = number
            self._begin(number, seed)

    def restart(self, env: int) -> None:
        self._current[0] = env
        self._begin(env)

    def _begin(self, number: int, seed: int | None = None) -> None:
        env = self._envs[number]
        given = env.reset() if seed is None else env.reset(seed=seed)
        try:
            obs, info = given
            self._arrays.obs[number, : self._row_size] = self._rows.row(obs)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError):
            raise self._error("reset", reset_problem(given, self._space)) from None
        self._write_mask(number, "reset", info)
        self._check_numbers("reset", self._arrays.obs[number : number + 1], number)

    def _write_mask(self, number: int, method: str, info: Any, is_over: bool = False) -> None:
        if not self._choices:
            return
        try:
            mask = mask_of(self._envs[number], info, self._choices, is_over)
        except EnvError as error:
            raise self._error(method, str(error)) from None
        self._arrays.obs[number, self._row_size :] = mask

    def step(self) -> None:
        a, current = self._arrays, self._current
        # A copy: environments may keep their action, or change it.
        actions = a.actions.copy()
        for number, env in enumerate(self._envs):
            current[0] = number
            action = actions[number]
            given = env.step(env_action(self._action_space, action) if self._is_nested else action)
            try:
                obs, a.reward[number], terminated, truncated, info = given
                a.obs[number, : self._row_size] = self._rows.row(obs)
                a.terminated[number], a.truncated[number] = terminated, truncated
            except (TypeError, ValueError, KeyError, IndexError, OverflowError):
                raise self._error("step", step_problem(given, self._space)) from None
            self._write_mask(number, "step", info, is_over=terminated or truncated)
            if terminated or truncated:
                a.final_obs[number] = a.obs[number]
                self._check_numbers("step", a.final_obs[number : number + 1], number)
                self._begin(number)
        self._check_numbers("step", a.obs)
        if not is_finite(a.reward):
            current[0] = number = int(np.argmin(np.isfinite(a.reward)))
            raise self._error("step", reward_problem(float(a.reward[number])))

    def _check_numbers(self, method: str, obs: NDArray[Any], first: int = 0) -> None:
        """Raises EnvError where rows `obs` have NaN or infinity; bytes have none, and packed ones
        were looked at.
        """
        if obs.dtype.kind != "f" or is_finite(obs):
            return
        row = int(np.argmin(np.isfinite(obs).all(1)))
        self._current[0] = first + row
        given = self._rows.obs(obs[row, : self._row_size])
        raise self._error(method, obs_problem(given, self._space))

    def _error(self, method: str, problem: str) -> EnvError:
        return EnvError(f"env = 'gymnasium:{self._name}': {method} {problem}")

    def close(self) -> None:
        for env in self._envs:
            env.close()
