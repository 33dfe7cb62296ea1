"""The transitions of one collection, time first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..envs.vector import Transitions
from ..policies.policy import Policy
from ..spaces import ObsType

ALL = slice(None)
MOST_AT_ONCE = 2**17  # observations evaluated at once: what that takes beside a rollout has a limit
TORCH_TYPES: dict[ObsType, torch.dtype] = {np.float32: torch.float32, np.uint8: torch.uint8}


@dataclass
class Rollout:
    """T steps of N rows, time first. Its memory is filled anew by every collection.

    A row is an environment, or one agent of it where it has several: those of an environment lie
    side by side.

    `obs` [T + 1, N, D], float32 or bytes, ends with what the next rollout starts from; `actions`
    [T, N, ...] are as the policy keeps them; `rewards`, `terminated` and `truncated` are [T, N].

    `final_obs` [C, N, D] are the observations that episodes ended in. On the processor C is T, and
    row t counts where an episode ended in step t. With `finals_in_order` C is the most time limits
    that T steps have room for, far less than T, and those of a row are of its truncated episodes,
    first to last.

    `valid` [T, N] is False for dead transitions, of an agent that has retired or of an environment
    that only began its next episode, and None where there are none: nothing is learned from those.

    `states` [K, N, S] are what a policy with memory knew before the steps 0, T / K, 2 T / K and so
    on: the first of each row that it learns from in one piece. None where there is no memory.

    `log_probs` [T, N] are of the actions, `values` and `next_values` [T, N] of the states acted in
    and of those that the steps led to, where the algorithm has such.
    """

    obs: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    truncated: Tensor
    final_obs: Tensor
    log_probs: Tensor
    values: Tensor
    next_values: Tensor
    valid: Tensor | None = None
    states: Tensor | None = None
    finals_in_order: bool = False
    has_values: bool = False  # whoever collects fills them in as well

    @classmethod
    def empty(
        cls,
        obs_size: int,
        steps: int,
        num_rows: int,
        policy: Policy,
        *,
        has_dead_steps: bool = False,
        num_final_obs: int | None = None,
        device: torch.device | str = "cpu",
        obs_type: ObsType = np.float32,
    ) -> Rollout:
        """With `num_final_obs` there are so many final observations of each row, in order."""
        seen = TORCH_TYPES[obs_type]

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        num_finals = steps if num_final_obs is None else num_final_obs
        num_pieces = steps // (policy.horizon or steps)
        return cls(
            obs=zeros(steps + 1, num_rows, obs_size, dtype=seen),
            actions=zeros(steps, num_rows, *policy.action_shape, dtype=policy.action_dtype),
            rewards=zeros(steps, num_rows),
            terminated=zeros(steps, num_rows, dtype=torch.bool),
            truncated=zeros(steps, num_rows, dtype=torch.bool),
            final_obs=zeros(num_finals, num_rows, obs_size, dtype=seen),
            log_probs=zeros(steps, num_rows),
            values=zeros(steps, num_rows),
            next_values=zeros(steps, num_rows),
            valid=~zeros(steps, num_rows, dtype=torch.bool) if has_dead_steps else None,
            states=zeros(num_pieces, num_rows, policy.state_size) if policy.state_size else None,
            finals_in_order=num_final_obs is not None,
        )

    def copy(self) -> Rollout:
        """The same in memory of its own."""
        copied: dict[str, Any] = {name: x.clone() for name, x in self._tensors.items()}
        return replace(self, **copied)

    def copy_from(self, other: Rollout) -> None:
        """Hold what another of this form does."""
        for name, x in self._tensors.items():
            x.copy_(other._tensors[name])

    @property
    def _tensors(self) -> dict[str, Tensor]:
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: x for name, x in every.items() if isinstance(x, Tensor)}

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(x.nbytes for x in self._tensors.values())

    @property
    def dones(self) -> Tensor:
        return self.terminated | self.truncated

    def resets(self, t: int | slice = ALL, rows: slice = ALL) -> Tensor:
        """The steps [T, N], or those of step `t`, after which nothing is to be remembered: ends of
        episodes, and dead steps, which see what belongs to none.
        """
        dones = self.terminated[t, rows] | self.truncated[t, rows]
        return dones if self.valid is None else dones | ~self.valid[t, rows]

    @property
    def num_valid(self) -> int:
        """Env steps that count."""
        return self.rewards.numel() if self.valid is None else int(self.valid.sum())

    def valid_of(self, x: Tensor) -> Tensor:
        """The samples of x [T, N, ...] that count, as [B, ...]."""
        return x.flatten(0, 1) if self.valid is None else x[self.valid]

    def remember(
        self, t: int, actions: Tensor, log_probs: Tensor | None, rows: slice = ALL
    ) -> None:
        """Store the choices of a policy in step `t` of some rows."""
        self.actions[t, rows] = actions
        if log_probs is not None:
            self.log_probs[t, rows] = log_probs

    def transitions(self, t: int) -> Transitions:
        """The memory of step `t`, for an environment on the processor to write."""
        valid = self.valid
        if valid is None:
            valid = torch.ones_like(self.terminated[:1]).expand_as(self.terminated)
        fields = (self.rewards, self.terminated, self.truncated, self.final_obs, valid)
        return Transitions(self.obs[t + 1].numpy(), *(x[t].numpy() for x in fields))

    def obs_in_pieces(self) -> Iterator[Tensor]:
        """The observations that count, as [B, D] of at most `MOST_AT_ONCE`."""
        return iter(torch.split(self.valid_of(self.obs[:-1]), MOST_AT_ONCE))

    def in_pieces(self, of: Callable[[Tensor], Tensor], obs: Tensor) -> Tensor:
        """The results [B, ...] of `of` for observations [B, D]; it gets at most `MOST_AT_ONCE` of
        them at a time.
        """
        found = [of(piece) for piece in torch.split(obs, MOST_AT_ONCE)]
        return found[0] if len(found) == 1 else torch.cat(found)

    def values_by(self, value_of: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """Values of the states acted in, and of those that the steps led to: both [T, N].

        `value_of` takes observations [B, D]. After a time limit what counts is the state in which
        the episode was cut short, not the one in which the next began.
        """
        steps, num_envs = self.rewards.shape
        values = self.in_pieces(value_of, self.obs.flatten(0, 1)).view(steps + 1, num_envs)
        return values[:-1], self.with_final_values(values[1:].clone(), value_of)

    def with_final_values(
        self, next_values: Tensor, value_of: Callable[..., Tensor], states: Tensor | None = None
    ) -> Tensor:
        """`next_values` [T, N], after time limits those of the observations that episodes ended in.

        `value_of` takes such observations [B, D], and with `states` [T, N, S] after each step also
        the states that belong to them [B, S].
        """
        with_obs = () if states is None else (states,)
        if not self.finals_in_order:  # on the processor, where few of them count
            if self.truncated.any():
                chosen = (x[self.truncated] for x in (self.final_obs, *with_obs))
                next_values[self.truncated] = value_of(*chosen)
        elif len(self.final_obs):
            number = self.truncated.cumsum(0)
            finals = [self.final_obs.flatten(0, 1)]
            finals += [at_each(number, len(self.final_obs), x).flatten(0, 1) for x in with_obs]
            final_values = value_of(*finals).view(len(self.final_obs), -1)
            by_step = final_values.gather(0, (number - 1).clamp_(min=0))
            next_values = torch.where(self.truncated, by_step, next_values)
        return next_values


def at_each(number: Tensor, count: int, x: Tensor) -> Tensor:
    """x [T, N, S] at the steps in which `number` [T, N], which grows, first is 1, 2, ... `count`:
    [count, N, S]; anything where it never is.
    """
    counts = torch.arange(count, device=number.device).view(-1, 1, 1)
    steps = (number <= counts).sum(1).clamp_(max=len(number) - 1)
    return x.gather(0, steps.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
