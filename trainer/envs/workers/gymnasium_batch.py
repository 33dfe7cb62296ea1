"""Gymnasium's environments, one after the other, as a batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError, nearest
from ...settings.importing import import_from_here, imported
from ...settings.own_code import PREFIX as OWN_PREFIX
from ...settings.own_code import pickled_own, take_pickled
from ..checking import (
    TRUTH_VALUES,
    WRONG_VALUES,
    EnvError,
    check_reset,
    close_all,
    obs_problem,
    reset_problem,
    reward_problem,
    step_problem,
)
from ..masks import MaskedSpace, mask_method, unused_in_info
from ..own_envs import not_an_env, own_env
from ..preprocessing.settings import AS_IT_IS, Preprocessing
from ..space_rows import ObsRows, env_action
from ..spaces import (
    action_spec,
    check_version,
    import_gymnasium,
    is_id,
    knows_id,
    seen_in,
    why_not_made,
    with_mask,
)
from ..spec import HostedSpec
from .arrays import GAME, Arrays, Counters, Games


def describe(name: str, preprocessing: Preprocessing) -> HostedSpec:
    """Make one copy of the environment `name` and describe it: an id of Gymnasium's, or
    `module:function`, which returns one. `own/NAME` is one that a script or a notebook defines.
    Raises ConfigError where it cannot be trained on.
    """
    check_version(name)
    gymnasium = import_gymnasium()
    wrong = f"env = 'gymnasium:{name}'"
    try:
        env = maker(name, preprocessing=preprocessing)()
    except (gymnasium.error.Error, ImportError) as error:
        raise ConfigError(f"{wrong}: {why_not_made(error)}") from error
    if not isinstance(env, gymnasium.Env):
        raise ConfigError(f"{wrong}: {not_an_env(env, name)}")
    check_reset(env, wrong)
    if preprocessing.life_loss:
        env.reset()  # which says if there are no lives
    actions = action_spec(gymnasium, f"gymnasium:{name}", env.action_space)
    masked = MaskedSpace(gymnasium, env.observation_space, actions, wrong)
    seen = seen_in(gymnasium, wrong, masked.space)
    seen = with_mask(seen, masked.size(mask_method(env), lambda: [env.reset()[1]]))
    close_all([env], name)
    if seen["mask_size"] and (repeats := preprocessing.repeats_actions):
        raise ConfigError(
            f"preprocessing.{repeats}: the environment has action masks, and an action may be "
            "illegal in the frame in which it is repeated; leave it out"
        )
    return HostedSpec(
        name, actions=actions, host="gymnasium", module=__name__, preprocessing=preprocessing,
        obs_stack=stack_of(env), obs_space=masked.space, action_space=env.action_space, **seen,
    )  # fmt: skip


def for_workers(spec: HostedSpec) -> HostedSpec:
    """The description with what only this process may know: environments that it registered."""
    if is_factory(spec.name):
        return spec
    if own_env(spec.name):
        return replace(spec, registered=pickled_own([spec.name], "use workers.num_workers = 0"))
    import cloudpickle  # which Gymnasium requires

    return replace(spec, registered=cloudpickle.dumps(import_gymnasium().spec(spec.name)))


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> GymnasiumBatch:
    """Make `num_envs` environments, here or in a worker."""
    make_one = maker(spec.name, spec.registered, spec.preprocessing)
    envs: list[Any] = []
    try:
        for env in range(num_envs):
            counters.current[0] = env
            envs.append(make_one())
    except BaseException:
        close_all(envs, spec.name)
        raise
    return GymnasiumBatch(envs, spec, counters)


def is_factory(name: str) -> bool:
    """Whether `name` is `module:function`. `module:Env-v0` is an id that Gymnasium knows once the
    module is imported.
    """
    module, colon, function = name.rpartition(":")
    # The module is imported here, whatever `function` is: Gymnasium would import it unasked.
    return bool(colon) and callable(getattr(import_from_here(module), function, None))


def maker(
    name: str, registered: bytes = b"", preprocessing: Preprocessing = AS_IT_IS, **options: Any
) -> Callable[[], Any]:
    """Return a function that makes one environment. `options` are those of `gymnasium.make`, or the
    arguments of a user's class or function.
    """
    spec, make = _spec_and_maker(name, registered)
    if not preprocessing.is_on:
        return partial(make, **options)
    from ..preprocessing.wrappers import made  # which imports Gymnasium

    return lambda: made(make, spec, preprocessing, options)


def _spec_and_maker(name: str, registered: bytes) -> tuple[Any, Callable[..., Any]]:
    """Gymnasium's entry of an id, else None, and a function that makes the environment."""
    if registered and name.startswith(OWN_PREFIX):
        take_pickled(registered)
    elif registered:
        spec = pickle.loads(registered)
        return spec, partial(import_gymnasium().make, spec)
    if own := own_env(name):
        return None, own
    if is_factory(name):
        return None, imported("env", name)
    gymnasium = import_gymnasium(name)
    module, _, own_id = name.rpartition(":")
    if module and not is_id(own_id) and not knows_id(own_id):
        names = [key for key, made in vars(import_from_here(module)).items() if callable(made)]
        raise ConfigError(
            f"env = 'gymnasium:{name}': the module {module} has no function or class {own_id}, and "
            f"registers no environment of that id{nearest(own_id, names)}"
        )
    return gymnasium.registry.get(own_id), partial(gymnasium.make, name)


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

    def __init__(self, envs: list[Any], spec: HostedSpec, counters: Counters) -> None:
        self.obs_size, self.actions = spec.obs_size, spec.actions
        self._envs, self._rows = envs, ObsRows(spec)
        self._spec, self._notice = spec, counters.notice
        self._given_space, self._action_space = envs[0].observation_space, spec.action_space
        self._is_nested = hasattr(spec.action_space, "spaces")
        self._masked = MaskedSpace(import_gymnasium(), self._given_space, spec.actions)
        self._methods = [mask_method(env) for env in envs]
        self._has_masks = spec.mask_size > 0
        self._seeks_masks, self._num_choices = not self._has_masks, sum(self._masked.choices)
        self._current = counters.current
        self._row_size = self._rows.row_size
        self.games = Games.of(len(envs)) if spec.preprocessing.splits_games else None

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def reset(self, seeds: NDArray[Any]) -> None:
        for number, seed in enumerate(seeds.tolist()):
            self._current[0] = number
            self._begin(number, seed)

    def _begin(self, number: int, seed: int | None = None) -> None:
        env = self._envs[number]
        try:
            given = env.reset() if seed is None else env.reset(seed=seed)
        except StopIteration as error:
            raise self._error("reset", "raises StopIteration") from error
        try:
            obs, info = given
            self._write(number, obs, info)
        except EnvError as error:
            raise self._error("reset", str(error)) from None
        except WRONG_VALUES:
            if not (problem := reset_problem(given, self._given_space)):
                raise
            raise self._error("reset", problem) from None
        self._check_numbers("reset", self._arrays.obs[number : number + 1], number)

    def _write(self, number: int, obs: Any, info: Any, is_over: bool = False) -> None:
        """The row of an environment: its observation, and behind it its action mask."""
        row = self._arrays.obs[number]
        row[: self._row_size] = self._rows.row(self._masked.without_mask(obs))
        if self._has_masks:
            masks = self._masked.masks(obs, info, self._methods[number], is_over)
            row[self._row_size :] = masks[0]

    def step(self) -> None:
        a, current = self._arrays, self._current
        # A copy: environments may keep their action, or change it.
        actions = a.actions.copy() if self._is_nested else env_action(self._action_space, a.actions)
        for number, env in enumerate(self._envs):
            current[0] = number
            action = actions[number]
            try:
                given = env.step(
                    env_action(self._action_space, action) if self._is_nested else action
                )
            except StopIteration as error:  # which would end a generator of ours
                raise self._error("step", "raises StopIteration") from error
            try:
                obs, reward, terminated, truncated, info = given
                # NumPy would take the real part, read the text, and make NaN of None.
                if isinstance(reward, np.complexfloating | str | bytes | None):
                    raise TypeError
                if getattr(reward, "requires_grad", False):
                    raise TypeError
                a.reward[number] = reward
                a.terminated[number], a.truncated[number] = terminated, truncated
                if not (
                    isinstance(terminated, TRUTH_VALUES) and isinstance(truncated, TRUTH_VALUES)
                ):
                    raise TypeError
                if info and self._seeks_masks:
                    self._seek_masks(info)
                if self.games:
                    self.games.reward[number], self.games.is_over[number] = info[GAME]
                self._write(number, obs, info, is_over=bool(terminated or truncated))
            except EnvError as error:
                raise self._error("step", str(error)) from None
            except WRONG_VALUES:
                if not (problem := step_problem(given, self._given_space)):
                    raise
                raise self._error("step", problem) from None
            if terminated or truncated:
                a.final_obs[number] = a.obs[number]
                self._check_numbers("step", a.final_obs[number : number + 1], number)
                self._begin(number)
        self._check_numbers("step", a.obs)
        if not is_finite(a.reward):
            current[0] = number = int(np.argmin(np.isfinite(a.reward)))
            raise self._error("step", reward_problem(float(a.reward[number])))

    def _seek_masks(self, info: Any) -> None:
        """Notice masks that came with no reset."""
        if unused := unused_in_info(info, self._num_choices):
            self._notice(f"{self._spec.setting}: {unused}")
            self._seeks_masks = False

    def _check_numbers(self, method: str, obs: NDArray[Any], first: int = 0) -> None:
        """Raises EnvError where rows `obs` have NaN or infinity; bytes have none, and packed ones
        were looked at.
        """
        if obs.dtype.kind != "f" or is_finite(obs):
            return
        row = int(np.argmin(np.isfinite(obs).all(1)))
        self._current[0] = first + row
        given = self._rows.obs(obs[row, : self._row_size])
        raise self._error(method, obs_problem(given, self._rows.space))

    def _error(self, method: str, problem: str) -> EnvError:
        return EnvError(f"{self._spec.setting}: {method} {problem}")

    def close(self) -> None:
        close_all(self._envs, self._spec.name)
