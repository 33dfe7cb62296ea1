"""operant's environments for TorchRL, as an `EnvBase`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor
from torchrl.data import Binary, Bounded, Categorical, Composite, MultiCategorical, Unbounded
from torchrl.envs import EnvBase

from ..spaces import ActionSpec, Box, Discrete
from .spec import EnvSpec
from .vector import Transitions, VectorEnv

AGENTS = "agents"


class TorchRLEnv(EnvBase):  # type: ignore[misc]
    """One of operant's environments, `num_envs` at once, on the processor.

    Where an episode ends its last observation is given, and the next `reset` of that environment
    gives the first one of the episode that has begun by then. Episodes are a function of the seed
    and the environment's number alone.

    Where environments have several agents theirs are under "agents", with a dimension of agents:
    observation, action, reward, `valid`, which is False in steps that an agent had no part in, and
    `retired`, which is True where its own episode ended by more than a time limit. An
    environment is done when that is over for all.
    """

    def __init__(self, spec: EnvSpec, num_envs: int, seed: int = 0) -> None:
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self._spec, self._num_envs = spec, num_envs
        self._has_agents = spec.num_agents > 1
        self._rows = (num_envs, spec.num_agents) if self._has_agents else (num_envs,)
        self._set_seed(seed)
        obs = Unbounded((*self._rows, spec.obs_size), dtype=torch.float32)
        reward, action = Unbounded((*self._rows, 1)), action_spec(spec.actions, self._rows)
        if self._has_agents:
            flags = {
                name: Binary(shape=(*self._rows, 1), dtype=torch.bool)
                for name in ("valid", "retired")
            }
            self.observation_spec = self._of_agents(observation=obs, **flags)
            self.action_spec, self.reward_spec = (
                self._of_agents(action=action),
                self._of_agents(reward=reward),
            )
        else:
            self.observation_spec = Composite(observation=obs, shape=self.batch_size)
            self.action_spec, self.reward_spec = action, reward
        flag = Binary(shape=(num_envs, 1), dtype=torch.bool)
        self.done_spec = Composite(
            done=flag, terminated=flag.clone(), truncated=flag.clone(), shape=self.batch_size
        )

    def _of_agents(self, **specs: Any) -> Composite:
        return Composite(
            {AGENTS: Composite(specs, shape=torch.Size(self._rows))}, shape=self.batch_size
        )

    def _set_seed(self, seed: int | None) -> None:
        self._envs = VectorEnv(self._spec, self._num_envs, 0 if seed is None else seed)
        self._out = Transitions.of(self._spec, self._envs.num_rows)
        self._has_begun = False

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        asked = None if tensordict is None else tensordict.get("_reset", None)
        if not self._has_begun:
            self._envs.reset(self._out.obs)
            self._fresh = np.ones(self._num_envs, np.bool_)
            self._has_begun = True
        anew = np.ones(self._num_envs, np.bool_) if asked is None else asked.view(-1).numpy()
        for env in np.flatnonzero(anew & ~self._fresh):
            self._envs.begin_anew(int(env), self._out.obs)
        self._fresh |= anew
        flags = np.ones(self._envs.num_rows, np.bool_), np.zeros(self._envs.num_rows, np.bool_)
        return self._given(self._out.obs, *flags)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        envs, out, agents = self._envs, self._out, self._spec.num_agents
        actions = tensordict.get((AGENTS, "action") if self._has_agents else "action")
        before = envs.state.episode.copy()
        envs.step(actions.reshape(envs.num_rows, *actions.shape[len(self._rows) :]).numpy(), out)
        self._fresh = envs.state.episode != before
        ended = np.repeat(self._fresh, agents)[:, None]
        valid = out.valid if self._has_agents else np.ones_like(out.terminated)
        last = (
            np.where(out.valid[:, None] & ended, out.final_obs, 0.0)
            if self._has_agents
            else (out.final_obs)
        )
        given = self._given(np.where(ended, last, out.obs), valid, out.terminated)
        reward = self._shaped(out.reward)
        given.set((AGENTS, "reward") if self._has_agents else "reward", reward)
        truncated = out.truncated.reshape(self._num_envs, -1).any(1)
        flags = {
            "done": self._fresh,
            "truncated": truncated,
            "terminated": self._fresh & ~truncated,
        }
        return given.update(
            {name: torch.from_numpy(x)[:, None].clone() for name, x in flags.items()}
        )

    def _given(self, obs: Any, valid: Any, retired: Any) -> TensorDictBase:
        seen = torch.from_numpy(np.array(obs, np.float32)).view(*self._rows, -1)
        values: dict[Any, Tensor] = {"observation": seen}
        if self._has_agents:
            values = {
                (AGENTS, "observation"): seen,
                (AGENTS, "valid"): self._shaped(valid),
                (AGENTS, "retired"): self._shaped(retired),
            }
        given = TensorDict({}, self.batch_size)
        for name, value in values.items():
            given.set(name, value)
        if self._has_agents:
            given.get(AGENTS).batch_size = self._rows
        return given

    def _shaped(self, of_rows: Any) -> Tensor:
        """A copy of what has a value for each row, with a last dimension of 1."""
        return torch.from_numpy(of_rows.copy()).view(*self._rows, 1)


def action_spec(actions: ActionSpec, rows: tuple[int, ...]) -> Any:
    """TorchRL's spec of such actions, for rows of this shape."""
    if isinstance(actions, Discrete):
        return Categorical(actions.n, shape=torch.Size(rows))
    if isinstance(actions, Box):
        low, high = (
            torch.tensor(x).expand(*rows, actions.action_size) for x in (actions.low, actions.high)
        )
        return Bounded(low, high, dtype=torch.float32)
    return MultiCategorical(actions.nvec, shape=torch.Size((*rows, len(actions.nvec))))
