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

    The step that ends an episode returns its last observation, and the next `reset` of that
    environment the first observation of the next episode. Episodes depend on the seed and the
    environment's number alone.

    With several agents per environment, entries are under "agents", with a dimension of agents:
    observation, action, reward, `valid`, which is False in steps without the agent, and `retired`,
    which is True where the agent's episode terminated. An environment is done when the episodes of
    all its agents have ended.
    """

    def __init__(self, spec: EnvSpec, num_envs: int, seed: int = 0) -> None:
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self._spec, self._num_envs = spec, num_envs
        self._has_agents = spec.num_agents > 1
        self._rows = (num_envs, spec.num_agents) if self._has_agents else (num_envs,)
        self._set_seed(seed)
        flag = Binary(shape=(*self._rows, 1), dtype=torch.bool)
        flags = {"valid": flag, "retired": flag.clone()} if self._has_agents else {}
        obs = Unbounded((*self._rows, spec.obs_size), dtype=torch.float32)
        self.observation_spec = self._by_row(observation=obs, **flags)
        self.action_spec = self._by_row(action=action_spec(spec.actions, self._rows))
        self.reward_spec = self._by_row(reward=Unbounded((*self._rows, 1)))
        flag = Binary(shape=(num_envs, 1), dtype=torch.bool)
        self.done_spec = Composite(
            done=flag, terminated=flag.clone(), truncated=flag.clone(), shape=self.batch_size
        )

    def _by_row(self, **specs: Any) -> Composite:
        rows = Composite(specs, shape=torch.Size(self._rows))
        return Composite({AGENTS: rows}, shape=self.batch_size) if self._has_agents else rows

    def _key(self, name: str) -> Any:
        return (AGENTS, name) if self._has_agents else name

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
        actions = tensordict.get(self._key("action"))
        before = envs.state.episode.copy()
        envs.step(actions.reshape(envs.num_rows, *actions.shape[len(self._rows) :]).numpy(), out)
        self._fresh = envs.state.episode != before
        ended = np.repeat(self._fresh, agents)[:, None]
        last = np.where(out.valid[:, None], out.final_obs, 0.0)
        given = self._given(np.where(ended, last, out.obs), out.valid, out.terminated)
        given.set(self._key("reward"), self._shaped(out.reward))
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
        values = {"observation": seen}
        if not self._has_agents:
            return TensorDict(values, self.batch_size)
        values |= {"valid": self._shaped(valid), "retired": self._shaped(retired)}
        return TensorDict({AGENTS: TensorDict(values, self._rows)}, self.batch_size)

    def _shaped(self, rows: Any) -> Tensor:
        """A copy of an array [R], with a last dimension of 1."""
        return torch.from_numpy(rows.copy()).view(*self._rows, 1)


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
