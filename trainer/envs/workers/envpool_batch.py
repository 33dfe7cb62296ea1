"""EnvPool's environments, stepped at once by its own threads, as a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError, nearest
from ....shared.install_command import install_command
from ...spaces import Box
from ..checking import EnvError
from ..names import ENVPOOL_PREFIX
from ..preprocessing.settings import Preprocessing
from ..spaces import action_spec, import_gymnasium, seen_in
from ..spec import HostedSpec
from .arrays import Arrays, Counters, Games

# Its words for the settings of `Preprocessing`.
OPTIONS = {
    "full_action_space": "full_action_space",
    "sticky_actions": "repeat_action_probability",
    "noop_starts": "noop_max",
    "frame_skip": "frame_skip",
    "time_limit": "max_episode_steps",
    "life_loss": "episodic_life",
    "reward_sign": "reward_clip",
    "greyscale": "gray_scale",
    "frame_stack": "stack_num",
}
LARGEST_SEED = 2**31 - 1


def describe(name: str, preprocessing: Preprocessing) -> HostedSpec:
    """Describe one of EnvPool's tasks, such as `Pong-v5`. Raises ConfigError where it cannot be
    trained on.
    """
    wrong = f"env = '{ENVPOOL_PREFIX}{name}'"
    envpool, gymnasium = _envpool(), import_gymnasium()
    if name not in (known := envpool.list_all_envs()):
        raise ConfigError(f"{wrong}: EnvPool has no such task{nearest(name, known)}")
    options = options_of(preprocessing)
    taken = envpool.make_spec(name).config._fields
    for key, option in OPTIONS.items():
        value = getattr(preprocessing, key)
        if value is not None and option not in taken:
            raise ConfigError(f"preprocessing.{key} = {value}: EnvPool's {name} has no {option}")
    if preprocessing.resize and "img_height" not in taken:
        raise ConfigError(f"preprocessing.resize: EnvPool's {name} has no images")
    depth, limit = preprocessing.frame_stack or 1, preprocessing.time_limit
    if limit and depth > limit:
        raise ConfigError(
            f"preprocessing.frame_stack = {depth}: episodes have at most {limit} steps; stack "
            "fewer frames"
        )
    spec = envpool.make_spec(name, **options)
    observations, actions = spec.gymnasium_observation_space, spec.gymnasium_action_space
    if not isinstance(observations, gymnasium.spaces.Box) or spec.config.max_num_players > 1:
        raise ConfigError(f"{wrong}: observations must be a Box of one agent's")
    seen = seen_in(gymnasium, wrong, observations)
    found = action_spec(gymnasium, f"{ENVPOOL_PREFIX}{name}", actions)
    return HostedSpec(
        name, actions=found, host="envpool", module=__name__, preprocessing=preprocessing,
        obs_space=observations, **seen,
    )  # fmt: skip


def for_workers(spec: HostedSpec) -> HostedSpec:
    """The description for a worker, which has one core."""
    return replace(spec, num_threads=1)


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> EnvPoolBatch:
    """Make `num_envs` environments, here or in a worker."""
    counters.current[0] = -1
    return EnvPoolBatch(spec, num_envs)


def is_atari_task(name: str) -> bool:
    """Whether a task is one of Atari's games."""
    envpool = _envpool()
    return name in envpool.list_all_envs() and "noop_max" in envpool.make_spec(name).config._fields


def _envpool() -> Any:
    try:
        import envpool
    except ModuleNotFoundError:
        raise ConfigError(f"envpool is not installed: {install_command('envpool')}") from None
    return envpool


def options_of(settings: Preprocessing) -> dict[str, Any]:
    """What EnvPool makes a task with."""
    found = {option: getattr(settings, key) for key, option in OPTIONS.items()}
    if settings.resize:
        found["img_height"], found["img_width"] = settings.resize
    if settings.noop_starts == 0:
        found["noop_max"] = 1  # fewer end the process
    return {option: value for option, value in found.items() if value is not None}


class EnvPoolBatch:
    """A pool of environments. EnvPool begins an episode in the step after the last one's end; those
    whose episode ended take that step at once, so that no step of a rollout is without an action.
    """

    num_agents = 1

    def __init__(self, spec: HostedSpec, num_envs: int) -> None:
        self.obs_size, self.actions = spec.obs_size, spec.actions
        self._spec, self._num_envs = spec, num_envs
        self._pool: Any = None
        self._dtype = np.float64 if isinstance(spec.actions, Box) else np.int32
        self.games = Games.of(num_envs) if spec.preprocessing.splits_games else None

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def reset(self, seeds: NDArray[Any]) -> None:
        """Make the pool anew, because EnvPool takes seeds only then."""
        self.close()
        self._pool = _envpool().make_gymnasium(
            self._spec.name,
            num_envs=self._num_envs,
            env_seed=[int(seed) % LARGEST_SEED for seed in seeds],
            num_threads=self._spec.num_threads,
            **options_of(self._spec.preprocessing),
        )
        self._show(*self._pool.reset())

    def step(self) -> None:
        a, pool = self._arrays, self._pool
        actions = a.actions.astype(self._dtype)
        obs, reward, terminated, truncated, info = pool.step(actions)
        rows = self._show(obs, info)
        a.reward[rows], a.terminated[rows], a.truncated[rows] = reward, terminated, truncated
        if self.games:
            self.games.reward[rows] = info["reward"]
            self.games.is_over[rows] = truncated | (info["terminated"] != 0)
        done = np.flatnonzero(a.terminated | a.truncated).astype(np.int32)
        if len(done):
            a.final_obs[done] = a.obs[done]
            obs, *_, info = pool.step(actions[done], done)  # its actions are not taken
            self._show(obs, info)

    def _show(self, obs: Any, info: Any) -> NDArray[Any]:
        """Write observations; return the numbers of their environments. Raises EnvError for NaN."""
        rows: NDArray[Any] = info["env_id"]
        flat = obs.reshape(len(rows), -1)
        if flat.dtype.kind == "f" and not np.isfinite(flat).all():
            raise EnvError(f"{self._spec.setting}: gives an observation with NaN or infinity")
        self._arrays.obs[rows] = flat
        return rows

    def close(self) -> None:
        if self._pool:
            self._pool.close()
            self._pool = None
