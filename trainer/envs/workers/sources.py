"""Makes environments from a name in a configuration, here and in workers.

`NativeSource` makes batched environments of one's own, which write into arrays that they are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....shared.errors import ConfigError
from ...settings.importing import imported
from ...spaces import (
    ANY_NUMBERS,
    ActionSpec,
    Box,
    Discrete,
    MultiDiscrete,
    ObsType,
    choices_of,
    mask_size,
    obs_range,
    obs_shape,
    obs_type,
)
from ..checking import EnvError, making
from ..masks import MaskError, legal
from ..names import NATIVE_PREFIX
from ..preprocessing.settings import AS_IT_IS, Preprocessing
from ..spaces import action_spec, import_gymnasium
from .arrays import Array, Arrays, Counters
from .envpool_batch import EnvPoolSource
from .gymnasium_batch import GymnasiumSource
from .pettingzoo_batch import PettingZooSource

if TYPE_CHECKING:
    from ..mettagrid.source import MettaGridSource

NEEDED = ("obs_size", "actions", "attach", "reset", "step")


@dataclass(frozen=True)
class NativeSource:
    """What `module:function` gives for a number of environments; see `batched.BatchedEnvs`."""

    name: str
    obs_size: int
    actions: ActionSpec
    num_agents: int
    obs_type: ObsType = np.float32
    obs_shape: tuple[int, ...] = ()
    obs_range: tuple[float, float] = ANY_NUMBERS
    mask_size: int = 0  # of these, the last of `obs_size` columns

    @classmethod
    def of(cls, path: str) -> NativeSource:
        """Look at one environment. Raises ConfigError where it is not as the protocol has it."""
        wrong = f"env = '{NATIVE_PREFIX}{path}'"
        envs = imported("env", path)(1)
        missing = [name for name in NEEDED if not hasattr(envs, name)]
        if missing:
            raise ConfigError(f"{wrong}: {type(envs).__name__} has no {', '.join(missing)}")
        actions = envs.actions
        if not isinstance(actions, Discrete | MultiDiscrete | Box):
            actions = action_spec(import_gymnasium(), f"{NATIVE_PREFIX}{path}", actions)
        if mask_size(envs) not in (0, sum(choices_of(actions))):
            raise ConfigError(
                f"{wrong}: mask_size = {mask_size(envs)}, and actions have "
                f"{sum(choices_of(actions))} choices"
            )
        source = cls(
            path,
            int(envs.obs_size),
            actions,
            int(getattr(envs, "num_agents", 1)),
            obs_type=obs_type(envs),
            obs_shape=obs_shape(envs),
            obs_range=obs_range(envs),
            mask_size=mask_size(envs),
        )
        close = getattr(envs, "close", None)
        if close:
            close()
        return source

    @property
    def setting(self) -> str:
        return f"env = '{NATIVE_PREFIX}{self.name}'"

    def for_workers(self) -> NativeSource:
        return self

    def make(self, num_envs: int, counters: Counters) -> Any:
        counters.current[0] = -1
        envs = imported("env", self.name)(num_envs)
        return NativeMasks(envs, self, counters.current) if self.mask_size else envs


class NativeMasks:
    """Batched environments whose action masks are checked after every call."""

    def __init__(self, envs: Any, source: NativeSource, current: Array) -> None:
        self._envs, self._source, self._current = envs, source, current
        self._choices = choices_of(source.actions)
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
        rows, columns = np.flatnonzero(counts), slice(-self._source.mask_size, None)
        try:
            obs[rows, columns] = legal(obs[rows, columns], self._choices, is_over)
        except MaskError as error:
            self._current[0] = rows[error.row] // self._source.num_agents
            raise EnvError(f"{self._source.setting}: {method} {error}") from None


Source: TypeAlias = (
    "GymnasiumSource | PettingZooSource | NativeSource | EnvPoolSource | MettaGridSource"
)


def source_of(env: str, preprocessing: Preprocessing = AS_IT_IS) -> Source:
    """Looks at one copy of the environment. Raises ConfigError where it cannot be trained on."""
    kind, _, name = env.partition(":")
    with making(f"env = '{env}'"):
        if kind == "pettingzoo":
            return PettingZooSource.of(name)
        if kind == "native":
            return NativeSource.of(name)
        if kind == "envpool":
            return EnvPoolSource.of(name, preprocessing)
        return GymnasiumSource.of(name, preprocessing)
