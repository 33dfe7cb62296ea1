"""Any Gymnasium environment as one of ours, in every autoreset mode.

Source: https://farama.org/Vector-Autoreset-Mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ...shared.errors import ConfigError
from . import GYMNASIUM_PREFIX as PREFIX
from .spec import ActionSpec, Box, Discrete, MultiDiscrete
from .vector import Transitions

Array = NDArray[Any]
Vectorization = Literal["sync", "async", "own"]


@dataclass(frozen=True)
class GymnasiumSpec:
    """What a policy needs to know of the Gymnasium environment `name`, and how many are stepped at
    once: one after the other, each in a process of its own, or as the environment does it itself.
    """

    name: str
    obs_size: int
    actions: ActionSpec
    vectorization: Vectorization = "sync"


def load_gymnasium_spec(name: str, vectorization: Vectorization = "sync") -> GymnasiumSpec:
    """Look at one copy of the environment. Raises ConfigError when it cannot be trained on."""
    gymnasium = import_gymnasium()
    try:
        if vectorization == "own":
            envs = gymnasium.make_vec(name, 1, vectorization_mode="vector_entry_point")
            observations, actions = envs.single_observation_space, envs.single_action_space
        else:
            envs = gymnasium.make(name)
            observations, actions = flat_observations(gymnasium, envs), envs.action_space
    except (gymnasium.error.Error, ModuleNotFoundError, AttributeError, ValueError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ConfigError(f"env = '{PREFIX}{name}': {reason}") from None
    envs.close()
    if not isinstance(observations, gymnasium.spaces.Box) or len(observations.shape) != 1:
        raise ConfigError(f"env = '{PREFIX}{name}': observations are {observations}, no vector")
    return GymnasiumSpec(
        name, observations.shape[0], action_spec(gymnasium, name, actions), vectorization
    )


def import_gymnasium() -> Any:
    """The library. Raises ConfigError when it is not installed."""
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise ConfigError(
            "gymnasium is not installed: pip install 'operant-rl[gymnasium]'"
        ) from None
    return gymnasium


def flat_observations(gymnasium: Any, env: Any) -> Any:
    """The space of an environment's observations as vectors."""
    return gymnasium.spaces.flatten_space(env.observation_space)


def action_spec(gymnasium: Any, name: str, space: Any) -> ActionSpec:
    """Raises ConfigError for actions that no policy of ours gives."""
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Discrete):
        return Discrete(int(space.n))
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        return MultiDiscrete(tuple(int(n) for n in space.nvec))
    is_real = isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating)
    if is_real and space.is_bounded() and len(space.shape) == 1:
        return Box(tuple(map(float, space.low)), tuple(map(float, space.high)))
    raise ConfigError(
        f"env = '{PREFIX}{name}': actions are {space}; they may be Discrete, a row of "
        "MultiDiscrete, or a bounded row of Box of floating-point numbers"
    )


def make_gymnasium_envs(spec: GymnasiumSpec, num_envs: int) -> Any:
    """A Gymnasium `VectorEnv`. Ours reset in the same step, so that no step is wasted."""
    gymnasium = import_gymnasium()
    if spec.vectorization == "own":
        return gymnasium.make_vec(spec.name, num_envs, vectorization_mode="vector_entry_point")
    one = gymnasium.make(spec.name)
    space = one.observation_space
    one.close()
    is_flat = isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1
    return gymnasium.make_vec(
        spec.name,
        num_envs,
        vectorization_mode=spec.vectorization,
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
        wrappers=() if is_flat else (gymnasium.wrappers.FlattenObservation,),
    )


def first_seed(seed: int, stream: int, num_resumed: int = 0) -> int:
    """What environment 0 is seeded with; each next one has the next number."""
    entropy = (int(seed), int(stream), num_resumed)
    return int(np.random.SeedSequence(entropy).generate_state(1)[0])


class GymnasiumEnvs:
    """N Gymnasium environments with the interface of `VectorEnv`.

    Where environments reset themselves in the step after an episode's end, that step ignores its
    action: it is dead.
    """

    resumes_exactly = False  # other people's environments do not tell their state

    def __init__(
        self,
        spec: GymnasiumSpec,
        num_envs: int,
        seed: int,
        stream: int,
        first_env: int = 0,
        envs: Any = None,
    ) -> None:
        """`envs` is a Gymnasium `VectorEnv`, by default made from `spec`. Raises ConfigError for an
        autoreset mode that is not known.
        """
        self.spec, self.num_envs = spec, num_envs
        self.num_rows = num_envs
        self._seed, self._stream, self._num_resumed = seed, stream, 0
        self._first_env = first_env
        self._envs = envs if envs is not None else make_gymnasium_envs(spec, num_envs)
        self._advance = self._advance_in(self._envs.metadata.get("autoreset_mode"))
        self._done = np.zeros(num_envs, np.bool_)
        self._episode_return, self._elapsed = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._totals = np.zeros(3)  # episodes, their returns, their lengths
        # Of each choice, where the space does not count from 0.
        self._first_action = np.asarray(getattr(self._envs.single_action_space, "start", 0))

    def _advance_in(self, mode: Any) -> Callable[[Array, Transitions], None]:
        ways = {
            "NextStep": self._advance_next_step,
            "SameStep": self._advance_same_step,
            "Disabled": self._advance_disabled,
        }
        name = getattr(mode, "value", mode)
        if name not in ways:
            raise ConfigError(
                f"{self.spec.name}: autoreset_mode = {name!r} is not known; "
                f"there are {', '.join(ways)}"
            )
        self.has_dead_steps = name == "NextStep"
        return ways[name]

    def reset(self, obs: Array) -> None:
        """Begin an episode everywhere; writes `obs` [N, D]."""
        seed = first_seed(self._seed, self._stream, self._num_resumed)
        obs[:], _ = self._envs.reset(seed=seed + self._first_env)
        self._done[:] = False
        self._episode_return[:] = 0
        self._elapsed[:] = 0

    def step(self, actions: Array, out: Transitions) -> None:
        """Step every environment with its own of `actions` [N, ...]; writes `out`."""
        self._advance(actions + self._first_action if self._first_action.any() else actions, out)
        # When both happen in one step the end of the task wins: there is nothing to bootstrap.
        out.truncated[out.terminated] = False
        self._count(out)

    def _advance_same_step(self, actions: Array, out: Transitions) -> None:
        out.obs[:], out.reward[:], out.terminated[:], out.truncated[:], infos = self._envs.step(
            actions
        )
        for env in np.flatnonzero(out.terminated | out.truncated):
            out.final_obs[env] = infos["final_obs"][env]

    def _advance_next_step(self, actions: Array, out: Transitions) -> None:
        out.valid[:] = ~self._done
        out.obs[:], out.reward[:], out.terminated[:], out.truncated[:], _ = self._envs.step(actions)
        for array in (out.reward, out.terminated, out.truncated):
            array[self._done] = 0
        self._done[:] = out.terminated | out.truncated
        out.final_obs[self._done] = out.obs[self._done]

    def _advance_disabled(self, actions: Array, out: Transitions) -> None:
        out.obs[:], out.reward[:], out.terminated[:], out.truncated[:], _ = self._envs.step(actions)
        done = out.terminated | out.truncated
        if done.any():
            out.final_obs[done] = out.obs[done]
            out.obs[:], _ = self._envs.reset(options={"reset_mask": done})

    def _count(self, out: Transitions) -> None:
        self._episode_return += out.reward
        self._elapsed += out.valid if self.has_dead_steps else 1
        done = out.terminated | out.truncated
        ended = (done.sum(), self._episode_return[done].sum(), self._elapsed[done].sum())
        self._totals += ended
        self._episode_return[done] = 0
        self._elapsed[done] = 0

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call."""
        count, return_, length = self._totals.tolist()
        self._totals[:] = 0
        return int(count), return_, length

    def take_notices(self) -> list[str]:
        """There is nothing that people should know of the episodes."""
        return []

    def state_dict(self) -> dict[str, Tensor | int]:
        """How often a run went on; of the environments themselves there is nothing to keep."""
        return {"num_resumed": self._num_resumed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Afterwards a `reset` begins episodes that no former one was."""
        self._num_resumed = state["num_resumed"] + 1

    def close(self) -> None:
        """End the environments, and the processes that they run in."""
        self._envs.close()
