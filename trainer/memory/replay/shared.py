"""One replay of several ranks, each of which has the observations of its own environments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..rollout import Rollout
from .batch import Batch
from .priorities import Priorities
from .replay import Replay, are_finite
from .ring import Steps

if TYPE_CHECKING:
    from ...distributed.process_group import ProcessGroup

OWN = ("obs", "finals", "actions")  # of a replay's arrays those that no other rank has
# For each row, slot by slot or place by place.
OF_ROWS = (*OWN, "depths", "owners", "num_cut", "rewards", "endings")
# Bits of what ranks tell one another of a step.
TERMINATED, TRUNCATED, USABLE, LEFT_OUT = (1 << bit for bit in range(4))


class SharedReplay:
    """As `Replay`, for one of several ranks. All keep the same books of all rows: rewards, endings
    and priorities, which are small; each has the observations and actions of its own.

    So all draw the same transitions, those that one process would draw, and each has of a batch
    what is its own: `Batch.numbers` tells which. Books are on the processor, whatever the device.
    """

    def __init__(
        self,
        ranks: ProcessGroup,
        capacity: int,
        num_rows: int,
        obs_size: int,
        action_shape: tuple[int, ...],
        action_dtype: torch.dtype,
        *,
        seed: int,
        device: torch.device,
        priorities: Priorities | None = None,
        pinned: bool = False,
        obs_dtype: torch.dtype = torch.float32,
        mask_size: int = 0,
        **options: Any,
    ) -> None:
        """As `Replay`, of all ranks together: `num_rows` are those of all."""
        self._ranks, self._device, self.priorities = ranks, device, priorities
        self._num_rows, rows = num_rows, ranks.my_rows(num_rows)
        self._num_own, self._first_row = len(rows), rows.start
        self._books = Replay(
            capacity, num_rows, 0, (0,), action_dtype, seed=seed, priorities=priorities, **options
        )
        self._own = Replay(
            self._books.layout.num_steps * self._num_own, self._num_own, obs_size, action_shape,
            action_dtype, seed=seed, device=device, pinned=pinned, obs_dtype=obs_dtype,
            mask_size=mask_size, **options,
        )  # fmt: skip
        self._action_dtype = action_dtype

    @property
    def loops(self) -> tuple[Any, ...]:
        """Compiled loops of `write`, `sample` and `update_priorities`."""
        return (*self._books.loops, *self._own.loops[:1])

    @property
    def num_rows(self) -> Tensor:
        """Transitions that are there, in all ranks."""
        return self._books.num_rows

    @property
    def num_refused(self) -> Tensor:
        """Updates of priorities that were refused."""
        return self._books.num_refused

    @property
    def num_left_out(self) -> Tensor:
        """Transitions that are never drawn, in all ranks."""
        return self._books.num_left_out

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays here."""
        return self._books.nbytes + self._own.nbytes

    def __len__(self) -> int:
        return len(self._books)

    def make_batch(self, size: int) -> Batch:
        """Memory for draws of `size` transitions of all ranks."""
        return self._books.make_batch(size)

    def write(self, rollout: Rollout) -> None:
        """Append the T steps of the environments here, as all ranks do theirs; see `Replay`."""
        self._own.write(rollout)
        self._books.write_steps(self._steps_of_all(rollout))

    def _steps_of_all(self, rollout: Rollout) -> Steps:
        """What all ranks have to know of the steps of all: one message."""
        flags = rollout.terminated * TERMINATED + rollout.truncated * TRUNCATED
        usable, lived = are_finite(rollout), rollout.valid
        lived = torch.ones_like(usable) if lived is None else lived
        flags = flags + (usable & lived) * USABLE + (~usable & lived) * LEFT_OUT
        own = torch.cat([rollout.rewards.view(torch.int32), flags.to(torch.int32)])
        rewards, flags = self._ranks.gather(own.cpu(), 1).chunk(2)
        size = rewards.numel()
        self._books.num_left_out += (flags & LEFT_OUT).bool().sum()
        return Steps(
            obs=torch.zeros(size + self._num_rows, 0),
            actions=torch.zeros(size, 0, dtype=self._action_dtype),
            rewards=rewards.view(torch.float32),
            terminated=(flags & TERMINATED).bool(),
            truncated=(flags & TRUNCATED).bool(),
            final_obs=torch.zeros(size, 0),
            valid=(flags & USABLE).bool(),
            has_dead=1,
            finals_in_order=0,
        )

    def end_episodes(self) -> None:
        """As `Replay`, in all ranks."""
        self._own.end_episodes()
        self._books.end_episodes()

    def sample(self, batch: Batch, beta: float | Tensor = 1.0) -> Batch:
        """Draw for all ranks, into `batch`; returns what of that is here. Where nothing is, that is
        one sample that does not count, so that there is something to compute.
        """
        whole = self._books.sample(batch, float(beta))
        envs = whole.index % self._num_rows - self._first_row
        numbers = torch.nonzero((envs >= 0) & (envs < self._num_own)).squeeze(1)
        num_local = len(numbers)
        if not num_local:
            numbers = torch.zeros(1, dtype=torch.int64)
        envs = envs[numbers].clamp(0, self._num_own - 1)
        rows = self._own_places(whole.index[numbers], envs)
        own = self._own.taken(rows, self._next_places(whole, numbers, envs))
        device = self._device
        return Batch(
            own.obs, own.actions, whole.returns[numbers].to(device), own.next_obs,
            whole.discounts[numbers].to(device), whole.weights[numbers].to(device),
            whole.index, whole.samples, numbers=numbers.to(device), num_local=num_local,
        )  # fmt: skip

    def _own_places(self, places: Tensor, envs: Tensor) -> Tensor:
        """Rows of the arrays here, for rows of all; `envs` are their environments here."""
        return places // self._num_rows * self._num_own + envs

    def _next_places(self, whole: Batch, numbers: Tensor, envs: Tensor) -> Tensor:
        """As `n_step_return` has them, of the arrays here."""
        places = whole.samples.next_places[numbers]
        rows = self._own_places(torch.where(places < 0, -1 - places, places), envs)
        return torch.where(places < 0, -1 - rows, rows)

    def update_priorities(self, index: Tensor, errors: Tensor) -> None:
        """As `Replay`, of the whole batch, the same in all ranks."""
        self._books.update_priorities(index, errors.cpu())

    def metrics(self) -> dict[str, Tensor]:
        """Of all ranks."""
        return self._books.metrics()

    def state_dict(self) -> dict[str, Tensor]:
        """That of one process's replay, which any number of ranks goes on with."""
        own = self._own.state_dict()
        return {**self._books.state_dict(), **{name: self._of_all(own[name]) for name in OWN}}

    def _of_all(self, own: Tensor) -> Tensor:
        """An array of all rows, from those that ranks have of theirs."""
        by_slot = own.view(-1, self._num_own, own.shape[-1])
        return self._ranks.gather(by_slot, 1).flatten(0, 1)

    def _own_part(self, whole: Tensor) -> Tensor:
        by_slot = whole.view(-1, self._num_rows, *whole.shape[1:])
        return self._ranks.my_slice(by_slot, 1).flatten(0, 1)

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Raises ValueError where the state is of a replay of another shape."""
        self._books.load_state_dict({**state, **{name: state[name][:, :0] for name in OWN}})
        own = {name: self._own_part(state[name]) for name in OF_ROWS if name in state}
        besides = {"layout": self._own.layout_numbers, "leaves": torch.zeros(0)}
        self._own.load_state_dict({**state, **own, **besides})
