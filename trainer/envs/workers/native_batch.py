"""Batched environments of one's own: objects that write into arrays they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ..spaces import action_spec, import_gymnasium
from ..spec import ActionSpec, Box, Discrete, MultiDiscrete, ObsType, obs_type
from .arrays import Counters
from .importing import imported

PREFIX = "native:"
NEEDED = ("obs_size", "actions", "attach", "reset", "step")


@dataclass(frozen=True)
class NativeSource:
    """What `module:function` gives for a number of environments; see `batched.BatchedEnvs`."""

    name: str
    obs_size: int
    actions: ActionSpec
    num_agents: int
    can_restart: bool
    obs_type: ObsType = np.float32

    @classmethod
    def of(cls, path: str) -> NativeSource:
        """Look at one environment. Raises ConfigError where it is not as the protocol has it."""
        envs = imported(path)(1)
        wrong = f"env = '{PREFIX}{path}'"
        missing = [name for name in NEEDED if not hasattr(envs, name)]
        if missing:
            raise ConfigError(f"{wrong}: {type(envs).__name__} has no {', '.join(missing)}")
        actions = envs.actions
        if not isinstance(actions, Discrete | MultiDiscrete | Box):
            actions = action_spec(import_gymnasium(), f"{PREFIX}{path}", actions)
        source = cls(
            path, int(envs.obs_size), actions, int(getattr(envs, "num_agents", 1)),
            can_restart=hasattr(envs, "restart"), obs_type=obs_type(envs),
        )  # fmt: skip
        close = getattr(envs, "close", None)
        if close:
            close()
        return source

    def for_workers(self) -> NativeSource:
        return self

    def make(self, num_envs: int, counters: Counters) -> Any:
        counters.current[0] = -1
        return imported(self.name)(num_envs)
