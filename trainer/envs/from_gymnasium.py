"""Vector environments of Gymnasium as ours, in every autoreset mode.

Source: https://farama.org/Vector-Autoreset-Mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ...shared.errors import ConfigError
from ...shared.text.harmless import one_line
from ..machine.values import State
from ..settings.importing import import_from_here
from .checking import (
    FLAGS,
    WRONG_VALUES,
    EnvError,
    action_problem,
    making,
    overflows,
    rounds,
    step_problem,
)
from .masks import MASK_KEYS, MaskedSpace, MaskError, mask_method, unused_in_info
from .names import GYMNASIUM_PREFIX as PREFIX
from .space_rows import env_action
from .spaces import action_spec, first_line, import_gymnasium, seen_in, with_mask
from .spec import HostedSpec
from .vector import Transitions
from .workers.hosted import first_seed

Array = NDArray[Any]


def describe(name: str) -> HostedSpec:
    """Make one copy of the environment with its own vector version, and describe it. Raises
    ConfigError when it cannot be trained on.
    """
    gymnasium = import_gymnasium(name)
    try:
        if ":" in name:
            import_from_here(name.rpartition(":")[0])
        envs = gymnasium.make_vec(name, 1, vectorization_mode="vector_entry_point")
    except (gymnasium.error.Error, ImportError) as error:
        reason = first_line(error)
        if ":" in name:
            reason += "; gymnasium.vectorization = own takes ids, and sync also module:function"
        raise ConfigError(f"env = '{PREFIX}{name}': {reason}") from error
    wrong = f"env = '{PREFIX}{name}'"
    actions = action_spec(gymnasium, f"{PREFIX}{name}", envs.single_action_space)
    masked = MaskedSpace(gymnasium, envs.single_observation_space, actions, wrong)
    masks = masked.size(mask_method(envs), lambda: [envs.reset()[1]])
    action_space = envs.single_action_space
    envs.close()
    if not isinstance(masked.space, gymnasium.spaces.Box):
        raise ConfigError(f"{wrong}: observations must be a Box, and are {masked.space}")
    seen = with_mask(seen_in(gymnasium, wrong, masked.space), masks)
    return HostedSpec(
        name, actions=actions, host="gymnasium", stepped_by="gymnasium",
        obs_space=masked.space, action_space=action_space, **seen,
    )  # fmt: skip


def make_gymnasium_envs(spec: HostedSpec, num_envs: int) -> Any:
    """A Gymnasium `VectorEnv`, the environment's own."""
    gymnasium = import_gymnasium(spec.name)
    return gymnasium.make_vec(spec.name, num_envs, vectorization_mode="vector_entry_point")


class GymnasiumEnvs:
    """N environments of a Gymnasium `VectorEnv`, with the interface of ours.

    Where environments reset themselves in the step after an episode's end, that step ignores its
    action: it is dead.
    """

    resumes_exactly = False  # other people's environments do not tell their state

    def __init__(
        self,
        spec: HostedSpec,
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
        with making(f"env = '{PREFIX}{spec.name}'"):
            self._envs = envs if envs is not None else make_gymnasium_envs(spec, num_envs)
        self._advance = self._advance_in(self._envs.metadata.get("autoreset_mode"))
        space = self._envs.single_observation_space
        self._masked = MaskedSpace(import_gymnasium(), space, spec.actions)
        self._method = mask_method(self._envs)
        self._seeks_masks, self._notices = not spec.mask_size, list[str]()
        self._done = np.zeros(num_envs, np.bool_)
        self._episode_return, self._elapsed = np.zeros(num_envs), np.zeros(num_envs, np.int64)
        self._totals = np.zeros(3)  # episodes, their returns, their lengths

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
        obs[:] = self._rows("reset", *self._envs.reset(seed=seed + self._first_env))
        self._done[:] = False
        self._episode_return[:] = 0
        self._elapsed[:] = 0

    def step(self, actions: Array, out: Transitions) -> None:
        """Step every environment with its own of `actions` [N, ...]; writes `out`."""
        self._advance(actions, out)
        # When both happen in one step the end of the task wins: there is nothing to bootstrap.
        out.truncated[out.terminated] = False
        self._count(out)

    def _advance_same_step(self, actions: Array, out: Transitions) -> None:
        infos = self._take_step(actions, out)
        for env in np.flatnonzero(out.terminated | out.truncated):
            final, final_obs = infos.get("final_info", {}), infos["final_obs"][env]
            info = {name: final[name][env] for name in MASK_KEYS if name in final}
            out.final_obs[env] = self._rows("step", final_obs, info, is_over=True, num_rows=1)

    def _advance_next_step(self, actions: Array, out: Transitions) -> None:
        out.valid[:] = ~self._done
        self._take_step(actions, out, may_be_over=True)
        for array in (out.reward, out.terminated, out.truncated):
            array[self._done] = 0
        self._done[:] = out.terminated | out.truncated
        out.final_obs[self._done] = out.obs[self._done]

    def _advance_disabled(self, actions: Array, out: Transitions) -> None:
        self._take_step(actions, out, may_be_over=True)
        done = out.terminated | out.truncated
        if done.any():
            out.final_obs[done] = out.obs[done]
            obs, infos = self._envs.reset(options={"reset_mask": done})
            out.obs[done] = self._rows("reset", obs, infos, is_over=~done)[done]

    def _take_step(self, actions: Array, out: Transitions, may_be_over: bool = False) -> Any:
        """Step all; writes `out`, and returns the infos. Observations `may_be_over`: the last ones
        of episodes that ended.
        """
        if problem := action_problem(actions):
            raise self._error(problem)
        given = self._envs.step(env_action(self.spec.action_space, actions))
        if not isinstance(given, tuple) or len(given) != 5:
            raise self._error(f"step {step_problem(given, self._masked.space)}")
        obs, rewards, *flags, infos = given
        try:
            out.reward[:] = rewards
            is_finite = bool(np.isfinite(out.reward).all())
        except WRONG_VALUES:
            is_finite = False
        if not is_finite:
            wrong = f"gives the rewards {one_line(repr(rewards), 60)}, expected {self.num_envs}"
            raise self._error(f"step {wrong} finite numbers")
        for name, flag in zip(FLAGS, flags, strict=True):
            if (dtype := np.asarray(flag).dtype) != np.bool_:
                raise self._error(f"step gives {name} of type {dtype}, expected bool")
        out.terminated[:], out.truncated[:] = flags
        if self._seeks_masks and (unused := unused_in_info(infos, 0)):
            self._notices, self._seeks_masks = [unused], False
        is_over = may_be_over & (out.terminated | out.truncated)
        out.obs[:] = self._rows("step", obs, infos, is_over)
        return infos

    def _rows(
        self, method: str, obs: Any, infos: Any, is_over: Any = False, num_rows: int = 0
    ) -> Array:
        """Observations as rows [N, D], with action masks behind them if there are any. Raises
        EnvError for a wrong mask.
        """
        # A method's masks are those of the next episodes already.
        method_now = None if num_rows else self._method
        num_rows = num_rows or self.num_envs
        given, space = self._masked.without_mask(obs), self._masked.space
        array = np.asarray(given)
        if rounds(array, space) or overflows(array, space):
            wrong = f"{method} gives observations of {array.dtype}, expected {space.dtype}"
            raise self._error(wrong)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self._error(f"{method} gives observations with NaN or infinity")
        rows = array.reshape(num_rows, -1)
        if not self.spec.mask_size:
            return rows
        try:
            masks = self._masked.masks(obs, infos, method_now, is_over, num_rows)
        except MaskError as error:
            step = (
                ""
                if method == "reset"
                else f" (step {self._elapsed[error.row] + 1:g} of its episode)"
            )
            raise self._error(
                f"{method} {error}{step}, in environment {self._first_env + error.row}"
            ) from None
        return np.concatenate([rows, masks], 1)

    def _error(self, problem: str) -> EnvError:
        return EnvError(f"env = '{PREFIX}{self.spec.name}': {problem}")

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
        """What was noticed since the last call."""
        taken, self._notices = self._notices, []
        return taken

    def state_dict(self) -> dict[str, Tensor | int]:
        """How often a run went on; of the environments themselves there is nothing to keep."""
        return {"num_resumed": self._num_resumed}

    def load_state_dict(self, state: State) -> None:
        """Afterwards a `reset` begins episodes that no former one was."""
        self._num_resumed = state["num_resumed"] + 1

    def close(self) -> None:
        """End the environments."""
        self._envs.close()
