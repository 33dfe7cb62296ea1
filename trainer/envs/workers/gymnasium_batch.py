"""Gymnasium's environments, one after the other, as a batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ...settings.importing import import_from_here, imported
from ...settings.own_code import PREFIX as OWN_PREFIX
from ...settings.own_code import pickled_own, take_pickled
from ...spaces import ANY_NUMBERS, ActionSpec, ObsType
from ...spaces.encoders import Part
from ..checking import (
    EnvError,
    close_all,
    obs_problem,
    reset_problem,
    reward_problem,
    step_problem,
)
from ..masks import choices_of, mask_of, offers_masks
from ..own_envs import own_env
from ..spaces import action_spec, first_line, import_gymnasium, seen_in
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
        close_all([env], name)
        seen["obs_size"] += mask_size
        return cls(name, actions=actions, mask_size=mask_size, **seen)

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
            close_all(envs, self.name)
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


def is_finite(numbers: NDArray[Any]) -> bool:
    """Whether there is neither NaN nor infinity in them."""
    return bool(np.isfinite(numbers).all())


class GymnasiumBatch:
    """Environments one after the other, each reset in the step in which its episode ends."""

    num_agents = 1

    def __init__(self, envs: list[Any], source: GymnasiumSource, counters: Counters) -> None:
        self.obs_size, self.actions = source.obs_size, source.actions
        self._envs, self._space, self._name = envs, envs[0].observation_space, source.name
        self._spaces = import_gymnasium().spaces
        self._is_vector = isinstance(self._space, self._spaces.Box) and len(self._space.shape) == 1
        self._current = counters.current
        self._num_numbers = source.obs_size - source.mask_size
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
            self._arrays.obs[number, : self._num_numbers] = self._flat(obs)
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
        self._arrays.obs[number, self._num_numbers :] = mask

    def step(self) -> None:
        a, current = self._arrays, self._current
        # A copy: environments may keep their action, or change it.
        actions = a.actions.copy()
        for number, env in enumerate(self._envs):
            current[0] = number
            given = env.step(actions[number])
            try:
                obs, a.reward[number], terminated, truncated, info = given
                a.obs[number, : self._num_numbers] = self._flat(obs)
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

    def _flat(self, obs: Any) -> NDArray[Any]:
        """One row. Raises ValueError for another shape: NumPy would stretch some to fit."""
        if self._space.shape and np.shape(obs) != self._space.shape:
            raise ValueError
        row = np.asarray(obs if self._is_vector else self._spaces.flatten(self._space, obs))
        if row.shape != (self._num_numbers,):
            raise ValueError
        return row

    def _check_numbers(self, method: str, obs: NDArray[Any], first: int = 0) -> None:
        """Raises EnvError where rows `obs` have NaN or infinity; bytes have none."""
        if obs.dtype.kind != "f" or is_finite(obs):
            return
        row = int(np.argmin(np.isfinite(obs).all(1)))
        self._current[0] = first + row
        given = obs[row, : self._num_numbers]
        given = given if self._is_vector else self._spaces.unflatten(self._space, given)
        raise self._error(method, obs_problem(given, self._space))

    def _error(self, method: str, problem: str) -> EnvError:
        return EnvError(f"env = 'gymnasium:{self._name}': {method} {problem}")

    def close(self) -> None:
        close_all(self._envs, self._name)
