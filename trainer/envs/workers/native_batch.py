"""Batched environments of a user's own, which write into arrays that they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ...settings.importing import imported
from ...spaces import ANY_NUMBERS, Box, Discrete, MultiDiscrete, choices_of
from ..checking import EnvError
from ..masks import MaskError, legal
from ..names import NATIVE_PREFIX
from ..preprocessing.settings import Preprocessing
from ..spaces import action_spec, import_gymnasium
from ..spec import HostedSpec
from .arrays import Array, Arrays, Counters

NEEDED = ("obs_size", "actions", "attach", "reset", "step")
# Attributes that `batched.BatchedEnvs` may leave out.
OPTIONAL: dict[str, Any] = {
    "num_agents": 1, "obs_type": np.float32, "obs_shape": (), "obs_range": ANY_NUMBERS,
    "mask_size": 0,
}  # fmt: skip


def describe(path: str, preprocessing: Preprocessing) -> HostedSpec:
    """Make one environment with the function that `path` names, `module:function`, and describe
    it; see `batched.BatchedEnvs`. Raises ConfigError where it is not as the protocol has it.
    """
    wrong = f"env = '{NATIVE_PREFIX}{path}'"
    envs = imported("env", path)(1)
    missing = [name for name in NEEDED if not hasattr(envs, name)]
    if missing:
        raise ConfigError(f"{wrong}: {type(envs).__name__} has no {', '.join(missing)}")
    actions = envs.actions
    if not isinstance(actions, Discrete | MultiDiscrete | Box):
        actions = action_spec(import_gymnasium(), f"{NATIVE_PREFIX}{path}", actions)
    seen = {key: getattr(envs, key, default) for key, default in OPTIONAL.items()}
    seen["num_agents"] = int(seen["num_agents"])
    num_choices = sum(choices_of(actions))
    if seen["mask_size"] not in (0, num_choices):
        raise ConfigError(
            f"{wrong}: mask_size = {seen['mask_size']}, and actions have {num_choices} choices"
        )
    spec = HostedSpec(path, int(envs.obs_size), actions, host="native", module=__name__, **seen)
    if hasattr(envs, "close"):
        envs.close()
    return spec


def make(spec: HostedSpec, num_envs: int, counters: Counters) -> Any:
    """Make `num_envs` environments, here or in a worker."""
    counters.current[0] = -1
    envs = imported("env", spec.name)(num_envs)
    return NativeMasks(envs, spec, counters.current) if spec.mask_size else envs


class NativeMasks:
    """Batched environments whose action masks are checked after every call."""

    def __init__(self, envs: Any, spec: HostedSpec, current: Array) -> None:
        self._envs, self._spec, self._current = envs, spec, current
        self._choices = choices_of(spec.actions)
        if hasattr(envs, "close"):
            self.close = envs.close

    def attach(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._envs.attach(arrays)

    def reset(self, seeds: Array) -> None:
        self._envs.reset(seeds)
        self._check("reset", self._arrays.obs, self._arrays.valid)

    def step(self) -> None:
        a = self._arrays
        self._envs.step()
        self._check("step", a.obs, a.valid)
        self._check("step", a.final_obs, (a.terminated | a.truncated) & a.valid, is_over=True)

    def _check(self, method: str, obs: Array, counts: Array, is_over: bool = False) -> None:
        """Check the masks of the rows where `counts` [R] is true."""
        rows, columns = np.flatnonzero(counts), slice(-self._spec.mask_size, None)
        try:
            obs[rows, columns] = legal(obs[rows, columns], self._choices, is_over)
        except MaskError as error:
            self._current[0] = rows[error.row] // self._spec.num_agents
            raise EnvError(f"{self._spec.setting}: {method} {error}") from None
