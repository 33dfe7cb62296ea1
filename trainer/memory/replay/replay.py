"""The memory that off-policy algorithms learn from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from ..rollout import Rollout
from .layout import Layout, Shapes, check_memory
from .on_processor import OnProcessor
from .priorities import Priorities, PriorityArrays
from .ring import Ring, Steps
from .sampling import Samples


@dataclass
class Batch:
    """B transitions of n steps at most; memory that every draw fills anew.

    `obs` and `next_obs` [B, D]; `actions` [B, ...]; `returns` [B], the discounted rewards of k
    steps; `discounts` [B], gamma^k, or 0 where the task ended: the target is returns + discounts *
    V(next_obs). `weights` [B] correct for the priorities, 1 at most, and are 1 where draws are
    uniform; 0 marks a sample that there was no row for. `index` [B] int64 are rows of the replay.
    """

    obs: Tensor
    actions: Tensor
    returns: Tensor
    next_obs: Tensor
    discounts: Tensor
    weights: Tensor
    index: Tensor
    samples: Samples = field(repr=False)  # the same memory, as tensors of two dimensions at most
    arrays: Any = field(default=None, repr=False)  # and as what a replay's loops take

    @classmethod
    def empty(cls, size: int, layout: Layout, device: torch.device) -> Batch:
        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        actions = zeros(size, *layout.action_shape, dtype=layout.action_dtype)
        samples = Samples(
            obs=zeros(size, layout.obs_size, dtype=layout.obs_dtype),
            actions=actions.view(size, -1),
            returns=zeros(size),
            next_obs=zeros(size, layout.obs_size, dtype=layout.obs_dtype),
            discounts=zeros(size),
            weights=zeros(size),
            rows=zeros(size, dtype=torch.int64),
            next_places=zeros(size, dtype=torch.int64),
            leaves=zeros(size),
        )
        return cls(
            samples.obs, actions, samples.returns, samples.next_obs, samples.discounts,
            samples.weights, index=samples.rows, samples=samples,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.returns)


FIRST_LEAF = 1.0  # of rows before any error is known

# Which arrays a checkpoint holds, and which of them have a row for every slot.
SAVED = ("finals", "owners", "num_cut", "written", "draws", "max_leaf", "num_refused")
SAVED_BY_SLOT = ("actions", "rewards", "endings", "leaves")


class Engine(Protocol):
    """The code that works on a replay's arrays on their device."""

    @property
    def loops(self) -> tuple[Any, ...]:
        """The compiled loops that are called, in the order of their first calls."""

    def arrays_of(self, tensors: Samples | Steps) -> Any:
        """The arguments of `sample` and `write` for these tensors."""

    def write(self, steps: Any) -> None: ...

    def end_episodes(self) -> None: ...

    def sample(self, samples: Any, beta: float | Tensor) -> None: ...

    def update(self, index: Tensor, errors: Tensor, alpha: float, eps: float) -> None: ...

    def sum_all(self) -> None: ...


class Replay:
    """The newest transitions of N environments, at most `capacity` in all, and draws from them.

    Everything lies on `device`, and nothing that `write`, `sample` and `update_priorities` do asks
    the host: on a GPU they can be captured in a graph, once each was called. With `pinned` the
    observations lie in main memory, and a GPU reaches for them there. Draws depend on the seed and
    their number alone.
    """

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        obs_size: int,
        action_shape: tuple[int, ...],
        action_dtype: torch.dtype,
        *,
        n_step: int = 1,
        gamma: float = 0.99,
        seed: int,
        device: torch.device | str = "cpu",
        priorities: Priorities | None = None,
        max_episode_steps: int | None = None,
        pinned: bool = False,
        with_kernels: bool | None = None,
        obs_dtype: torch.dtype = torch.float32,
        stack: int = 1,
        mask_size: int = 0,
    ) -> None:
        """`max_episode_steps` is the time limit, where that is all that cuts episodes short.

        Observations are a `stack` of frames, oldest first, with an action mask of `mask_size`
        behind them. The frame that a step adds is all that is kept: episodes must begin with their
        first frame over and over, as with Gymnasium's FrameStackObservation.

        `with_kernels` takes the GPU's kernels, for tests on the processor. Raises ConfigError where
        the replay is shorter than `n_step`, or does not fit into memory.
        """
        self.layout = Layout(
            capacity, num_envs, obs_size, action_shape, action_dtype, n_step,
            priorities is not None, max_episode_steps, obs_dtype, stack, mask_size,
        )  # fmt: skip
        self.device, self.priorities = torch.device(device), priorities
        check_memory(self.layout, self.device, pinned)
        pinned = pinned and self.device.type == "cuda"
        self._ring = Ring(**self._zeros(self.layout.ring_shapes, pinned))
        self._sums = PriorityArrays(**self._zeros(self.layout.priority_shapes))
        self._sums.max_leaf.fill_(FIRST_LEAF)
        on_gpu = self.device.type == "cuda" if with_kernels is None else with_kernels
        self._engine = self._make_engine(on_gpu, n_step, gamma, seed)
        self._last_written: tuple[Tensor | None, ...] = (None,) * 7
        self._steps: Any = None
        self._usable = torch.zeros(0)  # of the steps
        # Transitions that are never drawn, since a number of theirs is NaN or infinite.
        self.num_left_out = torch.zeros((), dtype=torch.int64, device=self.device)

    def _zeros(self, shapes: Shapes, pinned: bool = False) -> dict[str, Tensor]:
        return {
            name: torch.zeros(shape, dtype=dtype, pin_memory=True)
            if pinned and name in ("obs", "finals")
            else torch.zeros(shape, dtype=dtype, device=self.device)
            for name, (shape, dtype) in shapes.items()
        }

    def _make_engine(self, on_gpu: bool, n_step: int, gamma: float, seed: int) -> Engine:
        if on_gpu:
            from .on_gpu import OnGPU  # which needs numba-cuda

            return OnGPU(self._ring, self._sums, n_step, gamma, seed)
        return OnProcessor(self._ring, self._sums, n_step, gamma, seed)

    @property
    def loops(self) -> tuple[Any, ...]:
        """Compiled loops that `write`, `sample` and `update_priorities` call, in this order."""
        return self._engine.loops

    @property
    def num_rows(self) -> Tensor:
        """Transitions that are there, [] int64, on the device."""
        layout = self.layout
        num_rows: Tensor = self._ring.written[0].clamp(max=layout.num_steps) * layout.num_envs
        return num_rows

    def __len__(self) -> int:
        """Transitions that are there. Waits for a GPU."""
        return int(self.num_rows)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(x.nbytes for x in (*self._ring, *self._sums))

    @property
    def num_refused(self) -> Tensor:
        """Updates of priorities that were refused, [] int64, on the device."""
        num_refused: Tensor = self._sums.num_refused[0]
        return num_refused

    def make_batch(self, size: int) -> Batch:
        """Memory for draws of `size` transitions, for `sample` to fill time and again."""
        batch = Batch.empty(size, self.layout, self.device)
        batch.arrays = self._engine.arrays_of(batch.samples)
        return batch

    def write(self, rollout: Rollout) -> None:
        """Append the T steps of N environments; the oldest go where the ring is full.

        The rollout begins where the last ended: its first observations take the place of the last
        ones. After a break, as where environments were begun anew, call `end_episodes` first.
        Transitions with a number that is NaN or infinite are never drawn. Raises ValueError where T
        is more than the ring has.
        """
        steps, num_envs = rollout.rewards.shape
        if steps > self.layout.num_steps or num_envs != self.layout.num_envs:
            raise ValueError(
                f"a rollout of {steps} steps x {num_envs} environments does not fit into a replay "
                f"of {self.layout.num_steps} steps x {self.layout.num_envs} environments"
            )
        arrays, usable = self._steps_of(rollout), self._usable
        if rollout.valid is None:
            usable.fill_(1)
        else:
            usable.copy_(rollout.valid)
        # On the processor, sums take a fifth of the time, and show that nothing is to be left out.
        if not (rollout.rewards.is_cpu and has_finite_sums(rollout)):
            finite = are_finite(rollout)
            self.num_left_out += (usable & ~finite).sum()
            usable &= finite
        self._engine.write(arrays)

    def _steps_of(self, rollout: Rollout) -> Any:
        """The memory of a rollout as `write` takes it, made once: rollouts use theirs anew."""
        tensors = (
            rollout.obs, rollout.actions, rollout.rewards, rollout.terminated, rollout.truncated,
            rollout.final_obs, rollout.valid,
        )  # fmt: skip
        if any(new is not old for new, old in zip(tensors, self._last_written, strict=True)):
            self._usable = torch.zeros_like(rollout.terminated)
            steps = Steps(
                obs=rollout.obs.view(-1, self.layout.obs_size),
                actions=rollout.actions.view(rollout.rewards.numel(), -1),
                rewards=rollout.rewards,
                terminated=rollout.terminated,
                truncated=rollout.truncated,
                final_obs=rollout.final_obs.view(-1, self.layout.obs_size),
                valid=self._usable,
                has_dead=1,
                finals_in_order=int(rollout.finals_in_order),
            )
            self._last_written, self._steps = tensors, self._engine.arrays_of(steps)
        return self._steps

    def end_episodes(self) -> None:
        """Take the newest transitions as cut off by a time limit: what is written next begins new
        episodes, and no n-step return reaches into those.
        """
        self._engine.end_episodes()

    def sample(self, batch: Batch, beta: float | Tensor = 1.0) -> Batch:
        """Fill `batch` with draws, with replacement; returns it.

        `beta` from 0 to 1 says how far the weights correct for the priorities. Where there is
        nothing that may be drawn all is 0, the weights too.
        """
        self._engine.sample(batch.arrays, beta)
        return batch

    def update_priorities(self, index: Tensor, errors: Tensor) -> None:
        """Set the priorities of rows [B] int64, as drawn since the last `write`, by errors [B].

        Of a row that was drawn twice the larger error counts. Where an error is NaN or infinite
        nothing is changed, and `num_refused` grows. Raises ValueError where the shapes differ.
        """
        if errors.shape != index.shape:
            raise ValueError(f"errors {tuple(errors.shape)} of rows {tuple(index.shape)}")
        if self.priorities is not None:
            priorities = self.priorities
            errors = errors.detach().float().contiguous()
            self._engine.update(index, errors, priorities.alpha, priorities.eps)

    def metrics(self) -> dict[str, Tensor]:
        """How full the replay is and how far priorities are apart, still on the device.

        The spread is how much likelier a new row is drawn than the average one.
        """
        num_rows = self.num_rows
        fill = num_rows / (self.layout.num_steps * self.layout.num_envs)
        if self.priorities is None:
            return {"replay/fill_fraction": fill}
        mean = self._sums.blocks.sum() / num_rows
        return {
            "replay/fill_fraction": fill,
            "replay/mean_priority": mean,
            "replay/priority_spread": self._sums.max_leaf[0] / mean,
            "replay/refused_updates": self.num_refused.clone(),
        }

    def state_dict(self) -> dict[str, Tensor]:
        """All that draws depend on, in main memory; on the processor the replay itself, which goes
        on changing. Waits for a GPU.
        """
        saved = self._saved(int(self._ring.written))
        return {name: x.cpu() for name, x in saved.items()} | {"layout": self.layout_numbers}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state_dict` gave, here or on another device.

        Raises ValueError where it is of a replay of another shape.
        """
        arrays, places = self.arrays, self._saved(int(state["written"]))
        same = torch.equal(state["layout"], self.layout_numbers)
        shapes = {name: x.shape for name, x in state.items()}
        if not same or any(shapes.get(name) != place.shape for name, place in places.items()):
            raise ValueError("the replay that was saved has another shape")
        if self.device.type == "cuda":  # which may still read what is pinned
            torch.cuda.synchronize(self.device)
        for name, place in places.items():
            arrays[name].zero_()
            place.copy_(state[name])
        self._engine.sum_all()

    @property
    def layout_numbers(self) -> Tensor:
        """Numbers of slots, rows and finals, which must match when a state is loaded."""
        layout = self.layout
        return torch.tensor([layout.num_slots, layout.num_envs, layout.num_finals])

    @property
    def arrays(self) -> dict[str, Tensor]:
        """All of them, by name, as `Ring` and `PriorityArrays` say."""
        return self._ring._asdict() | self._sums._asdict()

    def _saved(self, written: int) -> dict[str, Tensor]:
        """The parts of the arrays that a checkpoint holds: all slots and places that were ever
        written, and the head's.
        """
        layout, arrays = self.layout, self.arrays
        rows = min(written + 1, layout.num_slots) * layout.num_envs
        frames = min(written + layout.stack, layout.num_places) * layout.num_envs
        by_row = {name: arrays[name][:rows] for name in SAVED_BY_SLOT}
        of_frames = ["obs"] if layout.stack == 1 else ["obs", "depths"]
        by_frame = {name: arrays[name][:frames] for name in of_frames}
        return {name: arrays[name] for name in SAVED} | by_row | by_frame


def has_finite_sums(rollout: Rollout) -> bool:
    """Whether all numbers of a rollout on the processor are finite; may be False if they are large.
    Memory of final observations that holds none counts as well.
    """
    parts = (rollout.obs, rollout.rewards, rollout.actions, rollout.final_obs)
    return all(math.isfinite(x.sum()) for x in parts if x.is_floating_point())


def are_finite(rollout: Rollout) -> Tensor:
    """Whether each transition [T, N] has finite numbers alone: observations before and after it,
    also the final one that a time limit cut it off in, its action and its reward.
    """
    obs = rows_are_finite(rollout.obs)
    found = obs[:-1] & obs[1:] & rollout.rewards.isfinite()
    if rollout.actions.is_floating_point():
        found &= rows_are_finite(rollout.actions)
    if len(rollout.final_obs) and rollout.final_obs.is_floating_point():
        finals = rows_are_finite(rollout.final_obs)
        if rollout.finals_in_order:
            number = rollout.truncated.cumsum(0)
            finals = finals.gather(0, (number - 1).clamp_(0, len(finals) - 1))
        found &= finals | ~rollout.truncated
    return found


def rows_are_finite(x: Tensor) -> Tensor:
    """Whether all numbers of each row are, of x [T, N, ...]: [T, N]."""
    if not x.is_floating_point():
        return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
    return x.isfinite().flatten(2).all(2)
