"""Vector environments of Gymnasium as ours, in every autoreset mode.

Source: https://farama.org/Vector-Autoreset-Mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...shared.errors import ConfigError
from ...shared.text.harmless import one_line
from ..settings.importing import import_from_here
from .checking import (
    FLAGS,
    WRONG_VALUES,
    EnvError,
    overflows,
    rounds,
    step_problem,
)
from .masks import MASK_KEYS, MaskedSpace, MaskError, mask_method, unused_in_info
from .names import GYMNASIUM_PREFIX as PREFIX
from .space_rows import env_action
from .spaces import action_spec, first_line, import_gymnasium, seen_in, with_mask
from .spec import HostedSpec
from .workers.arrays import Arrays, Counters

Array = NDArray[Any]

MODES = "NextStep", "SameStep", "Disabled"


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
    mode = autoreset_mode(envs)
    if mode not in MODES:
        raise ConfigError(
            f"{wrong}: autoreset_mode = {mode!r} is not known; there are {', '.join(MODES)}"
        )
    seen = with_mask(seen_in(gymnasium, wrong, masked.space), masks)
    return HostedSpec(
        name, actions=actions, host="gymnasium", module=__name__, stepped_by="gymnasium",
        resets_in_next_step=mode == "NextStep", obs_space=masked.space, action_space=action_space,
        **seen,
    )  # fmt: skip


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> VectorBatch:
    """Make `num_envs` environments, which their own vector version steps."""
    gymnasium = import_gymnasium(spec.name)
    envs = gymnasium.make_vec(spec.name, num_envs, vectorization_mode="vector_entry_point")
    return VectorBatch(envs, spec, num_envs, counters)


def autoreset_mode(envs: Any) -> Any:
    """The name of the autoreset mode of a Gymnasium `VectorEnv`."""
    mode = envs.metadata.get("autoreset_mode")
    return getattr(mode, "value", mode)


class VectorBatch:
    """A Gymnasium `VectorEnv` as a batch."""

    num_agents = 1

    def __init__(self, envs: Any, spec: HostedSpec, num_envs: int, counters: Counters) -> None:
        self.envs, self.obs_size, self.actions = envs, spec.obs_size, spec.actions
        self._spec, self._num_envs, self._counters = spec, num_envs, counters
        counters.current[0] = -1
        self._mode = autoreset_mode(envs)
        space = envs.single_observation_space
        self._masked = MaskedSpace(import_gymnasium(), space, spec.actions)
        self._method = mask_method(envs)
        self._seeks_masks = not spec.mask_size

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def reset(self, seeds: Array) -> None:
        a = self._arrays
        a.obs[:] = self._rows("reset", *self.envs.reset(seed=int(seeds[0])))
        a.terminated[:] = a.truncated[:] = False

    def step(self) -> None:
        a = self._arrays
        if self._spec.resets_in_next_step:
            np.logical_not(a.terminated | a.truncated, out=a.valid)
        infos = self._take_step()
        for array in (a.reward, a.terminated, a.truncated):
            array[~a.valid] = 0
        done = a.terminated | a.truncated
        if not done.any():
            return
        if self._mode == "SameStep":
            final = infos.get("final_info", {})
            for env in np.flatnonzero(done):
                info = {name: final[name][env] for name in MASK_KEYS if name in final}
                a.final_obs[env] = self._rows("step", infos["final_obs"][env], info, True, env)
            return
        a.final_obs[done] = a.obs[done]
        if self._mode == "Disabled":
            obs, infos = self.envs.reset(options={"reset_mask": done})
            a.obs[done] = self._rows("reset", obs, infos, ~done)[done]

    def _take_step(self) -> Any:
        """Step all; returns the infos."""
        out = self._arrays
        given = self.envs.step(env_action(self._spec.action_space, out.actions))
        if not isinstance(given, tuple) or len(given) != 5:
            raise self._error(f"step {step_problem(given, self._masked.space)}")
        obs, rewards, *flags, infos = given
        try:
            out.reward[:] = rewards
            is_finite = bool(np.isfinite(out.reward).all())
        except WRONG_VALUES:
            is_finite = False
        if not is_finite:
            wrong = f"gives the rewards {one_line(repr(rewards), 60)}, expected {self._num_envs}"
            raise self._error(f"step {wrong} finite numbers")
        for name, flag in zip(FLAGS, flags, strict=True):
            if (dtype := np.asarray(flag).dtype) != np.bool_:
                raise self._error(f"step gives {name} of type {dtype}, expected bool")
        out.terminated[:], out.truncated[:] = flags
        if self._seeks_masks and (unused := unused_in_info(infos, 0)):
            self._counters.notice(unused)
            self._seeks_masks = False
        # In the mode SameStep these are the next episodes' observations.
        is_over = (self._mode != "SameStep") & (out.terminated | out.truncated)
        out.obs[:] = self._rows("step", obs, infos, is_over)
        return infos

    def _rows(
        self, method: str, obs: Any, infos: Any, is_over: Any = False, env: Any = None
    ) -> Array:
        """Observations as rows [N, D], or that of one `env`, with action masks behind them if there
        are any. Raises EnvError for a wrong mask.
        """
        # A method's masks are those of the next episodes already.
        method_now, num_rows = (self._method, self._num_envs) if env is None else (None, 1)
        given, space = self._masked.without_mask(obs), self._masked.space
        array = np.asarray(given)
        if rounds(array, space) or overflows(array, space):
            wrong = f"{method} gives observations of {array.dtype}, expected {space.dtype}"
            raise self._error(wrong)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self._error(f"{method} gives observations with NaN or infinity")
        rows = array.reshape(num_rows, -1)
        if not self._spec.mask_size:
            return rows
        try:
            masks = self._masked.masks(obs, infos, method_now, is_over, num_rows)
        except MaskError as error:
            self._counters.current[0] = error.row if env is None else env
            raise self._error(f"{method} {error}") from None
        return np.concatenate([rows, masks], 1)

    def _error(self, problem: str) -> EnvError:
        return EnvError(f"{self._spec.setting}: {problem}")

    def close(self) -> None:
        self.envs.close()
