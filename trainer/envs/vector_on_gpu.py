"""Many environments on a GPU, a thread each: the functions and streams of `envs/vector.py`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..jit.streams import TRAINING, RandomSource
from .kernels import make_kernels
from .spec import EnvSpec
from .vector import EnvState, EpisodeTotals, Transitions, empty_fields


class Steps(NamedTuple):
    """The results of K steps of N environments; neighbours write side by side in each field.

    `obs` [K, D, N] is what is seen next, after a reset where an episode ended; `rewards` [K, N]
    float32; `terminated` and `truncated` [K, N] bool.
    """

    obs: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor

    @classmethod
    def empty(cls, spec: EnvSpec, steps: int, num_envs: int, device: torch.device) -> Steps:
        shape = (steps, num_envs)
        return cls(
            torch.zeros(steps, spec.obs_size, num_envs, device=device),
            torch.zeros(shape, device=device),
            torch.zeros(shape, dtype=torch.bool, device=device),
            torch.zeros(shape, dtype=torch.bool, device=device),
        )


class CudaVectorEnv:
    """N copies of one environment in a GPU's memory.

    The interface of `VectorEnv`, with tensors for arrays; `reset` and `step` can be captured.
    """

    def __init__(
        self,
        spec: EnvSpec,
        num_envs: int,
        seed: int,
        stream: int = TRAINING,
        device: torch.device | str = "cuda",
        first_env: int = 0,
    ) -> None:
        self.spec, self.num_envs, self.device = spec, num_envs, torch.device(device)
        self.num_rows = num_envs * spec.num_agents
        self.source = RandomSource.of(seed, stream, first_env)
        first_fields = np.ascontiguousarray(empty_fields(spec, num_envs, stream))
        self._first_fields = self._copy(first_fields)
        self.state = EnvState(
            fields=self._first_fields.clone(),
            elapsed=self._zeros(torch.int32, num_envs),
            episode=self._zeros(torch.int64, num_envs),
            episode_return=self._zeros(torch.float64, self.num_rows),
        )
        self.totals = EpisodeTotals(*(self._zeros(torch.float64, self.num_rows) for _ in range(3)))
        self._kernels = make_kernels(spec)

    def _copy(self, array: Any) -> Any:
        return torch.from_numpy(array).to(self.device)

    def _zeros(self, dtype: torch.dtype, *shape: int) -> Any:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def empty_transitions(self) -> Transitions:
        """Memory for one step, as tensors."""
        shape = (self.num_rows, self.spec.obs_size)
        obs_type = torch.from_numpy(np.empty(0, self.spec.obs_type)).dtype
        return Transitions(
            obs=self._zeros(obs_type, *shape),
            reward=self._zeros(torch.float32, self.num_rows),
            terminated=self._zeros(torch.bool, self.num_rows),
            truncated=self._zeros(torch.bool, self.num_rows),
            final_obs=self._zeros(obs_type, *shape),
            valid=~self._zeros(torch.bool, self.num_rows),
        )

    def reset(self, obs: Tensor) -> None:
        """Begin the first episode everywhere; writes `obs` [R, D]."""
        self.state.episode[:] = 0
        fields: Any = self.state.fields
        fields.copy_(self._first_fields)
        self._kernels.reset.launch(self.num_envs, self.state, self.source, obs)

    def step(self, actions: Tensor, out: Transitions) -> None:
        """Step every environment with its own of `actions` [R, ...]; writes `out`, of tensors."""
        self._kernels.step.launch(self.num_envs, self.state, self.totals, self.source, actions, out)

    def step_many(self, actions: Tensor, out: Steps) -> None:
        """Take K steps with `actions` [K, N, ...] in one launch; writes `out`."""
        self._kernels.step_many.launch(
            self.num_envs, self.state, self.totals, self.source, actions, out
        )

    def take_episode_totals(self) -> tuple[int, float, float]:
        """(count, summed return, summed length) of the episodes that ended since the last call.

        Waits for the GPU.
        """
        count, return_, length = torch.stack([total.sum() for total in self.totals]).tolist()
        self.clear_totals()
        return int(count), return_, length

    def clear_totals(self) -> None:
        for total in self.totals:
            total[:] = 0

    def state_dict(self) -> dict[str, Tensor]:
        """Everything that the next step depends on, as copies in main memory."""
        return {name: x.cpu().clone() for name, x in self.state._asdict().items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, tensor in self.state._asdict().items():
            tensor.copy_(state[name])
