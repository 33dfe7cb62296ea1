"""operant's environments for other libraries, as a Gymnasium `VectorEnv`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..spaces import ActionSpec, Box, Discrete, Spaces
from .hosts import load_spec
from .spec import EnvSpec
from .vector import Transitions, VectorEnv

Array = NDArray[Any]


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """One of operant's environments, `num_envs` at once, reset in the same step.

    Episodes are a function of the seed and the environment's number alone. Where one ends,
    `infos["final_obs"][i]` is the observation it ended with.
    """

    def __init__(self, name: str, num_envs: int, copy: bool = True) -> None:
        """`name` is one of `ENV_NAMES`. Without `copy` all steps write to the same arrays.

        Raises ValueError where environments have several agents.
        """
        spec = load_spec(name)
        assert isinstance(spec, EnvSpec)
        self.operant_spec = spec
        if self.operant_spec.num_agents > 1:
            raise ValueError(
                f"{name} has {self.operant_spec.num_agents} agents an environment, and those of "
                "Gymnasium have one"
            )
        self.num_envs, self._copies = num_envs, copy
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.single_observation_space = observation_space(self.operant_spec)
        self.single_action_space = action_space(self.operant_spec.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._out = Transitions.of(self.operant_spec, num_envs)
        self._envs: VectorEnv | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin anew everywhere. Without a seed the episodes are others each time.

        There are no options. Raises ValueError when some are given.
        """
        if options:
            raise ValueError(f"{self.operant_spec.name} has no reset options, not {options!r}")
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**63)) if seed is None else seed
        self._envs = VectorEnv(self.operant_spec, self.num_envs, drawn)
        self._envs.reset(self._out.obs)
        return self._given(self._out.obs), {}

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Step all environments. Raises ResetNeeded before the first reset, ValueError when the
        actions have another shape.
        """
        if self._envs is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions have shape {actions.shape}, not {self.action_space.shape}")
        out = self._out
        self._envs.step(np.ascontiguousarray(actions), out)
        answers = (out.obs, out.reward, out.terminated, out.truncated)
        return (*map(self._given, answers), self._infos(out))  # type: ignore[return-value]

    def close_extras(self, **kwargs: Any) -> None:
        """There is nothing to close."""

    def _given(self, array: Array) -> Array:
        return array.copy() if self._copies else array

    def _infos(self, out: Transitions) -> dict[str, Any]:
        ended = out.terminated | out.truncated
        if not ended.any():
            return {}
        final_obs = np.full(self.num_envs, None, dtype=object)
        for env in np.flatnonzero(ended):
            final_obs[env] = out.final_obs[env].copy()
        return {
            "final_obs": final_obs,
            "_final_obs": ended,
            "final_info": {},
            "_final_info": ended.copy(),
        }


def observation_space(spec: Spaces) -> gymnasium.spaces.Box:
    """The bounds that the environment tells, or none, without an action mask."""
    shape = (spec.obs_size - spec.mask_size,)
    if spec.obs_type is np.uint8:
        return gymnasium.spaces.Box(0, 255, shape, np.uint8)
    bounds = getattr(spec, "observations", None)
    if bounds is None:
        return gymnasium.spaces.Box(-np.inf, np.inf, shape, np.float32)
    low, high = (np.array(side, np.float32) for side in vars(bounds).values())
    return gymnasium.spaces.Box(low, high, shape, np.float32)


def action_space(actions: ActionSpec) -> gymnasium.Space[Any]:
    if isinstance(actions, Discrete):
        return gymnasium.spaces.Discrete(actions.n)
    if isinstance(actions, Box):
        low, high = (np.array(bounds, np.float32) for bounds in (actions.low, actions.high))
        return gymnasium.spaces.Box(low, high, dtype=np.float32)
    several: gymnasium.Space[Any] = gymnasium.spaces.MultiDiscrete(list(actions.nvec))
    return several
