"""Running statistics of observations and returns: exact in float64, merged once a rollout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from ..jit.compiling import specialised
from ..machine.values import State
from ..spaces import Spaces, num_numbers
from ..spaces.encoders import Part, is_packed

if TYPE_CHECKING:
    from ..distributed.process_group import ProcessGroup
    from ..memory.rollout import Rollout


def discount_template(rewards: Any, dones: Any, gamma: Any, running: Any, returns: Any) -> None:
    """The discounted sums [T, N] of `rewards` [T, N] so far; `running` [N] goes on from rollout to
    rollout, and begins anew after a `done`.
    """
    steps, num_envs = rewards.shape
    for t in range(steps):
        for n in range(num_envs):
            running[n] = running[n] * gamma + rewards[t, n]
            returns[t, n] = running[n]
            if dones[t, n]:
                running[n] = 0.0


discount = specialised(discount_template, "any")


STATISTICS = "reward_normalizer"  # their name in checkpoints
CLIP = 10.0
EPSILON = 1e-8


class RunningMoments(nn.Module):
    """Mean and variance of all samples so far.

    Source: Chan, Golub and LeVeque 1979, on merging the moments of two sets.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.variance: Tensor
        self.count: Tensor
        self.register_buffer("mean", torch.zeros(size, dtype=torch.float64))
        self.register_buffer("variance", torch.ones(size, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    @torch.no_grad()
    def update(self, samples: Tensor) -> None:
        """Merge in `samples` [B, size]; none change nothing."""
        if not len(samples):
            return
        samples = samples.double()
        self.merge(samples.shape[0], samples.mean(0), samples.var(0, correction=0))

    @torch.no_grad()
    def merge(self, count: Any, mean: Tensor, variance: Tensor) -> None:
        """Take in `count` samples of this `mean` and `variance` [size]; none where those are not
        finite, as a single sample that is not makes them.
        """
        kept: Any = (self.count, self.mean, self.variance)
        new: Any = (count, mean, variance)
        if self.mean.device.type == "cpu":  # NumPy is much the faster for so few numbers
            kept, new = ([np.asarray(x) for x in moments] for moments in (kept, new))
            if not all(np.isfinite(x).all() for x in new):
                return
            merged = _merged(*kept, *new)
        else:
            is_finite = mean.isfinite().all() & variance.isfinite().all()
            both = zip(kept, _merged(*kept, *new), strict=True)
            merged = tuple(torch.where(is_finite, after, before) for before, after in both)
        for own, after in zip(kept, merged, strict=True):
            own[...] = after

    @torch.no_grad()
    def update_over(self, ranks: ProcessGroup | None, pieces: Iterable[Tensor]) -> None:
        """Merge in the samples of all ranks; `pieces` [B, size] are those of this one."""
        if ranks is None or ranks.size == 1:
            for samples in pieces:
                self.update(samples)
            return
        # Relative to the mean so far, which all ranks know: so the squares stay small.
        before = self.mean
        sums = before.new_zeros(2 * len(before) + 1)
        total, squares, count = torch.split(sums, [len(before), len(before), 1])
        for samples in pieces:
            difference = samples.double() - before
            total += difference.sum(0)
            squares += difference.square_().sum(0)
            count += len(difference)
        ranks.sum(sums)
        if num_samples := float(count):
            mean, square = (sums[:-1] / num_samples).chunk(2)
            self.merge(num_samples, before + mean, (square - mean.square()).clamp_(min=0))

    @property
    def deviation(self) -> Tensor:
        """Standard deviation [size], float32."""
        if self.mean.device.type == "cpu":
            return torch.from_numpy(np.sqrt(self.variance.numpy() + EPSILON).astype(np.float32))
        return (self.variance + EPSILON).sqrt().float()


def _merged(
    count: Any, mean: Any, variance: Any, count_2: Any, mean_2: Any, variance_2: Any
) -> Any:
    """Count, mean and variance of two sets as one; tensors or arrays."""
    total = count + count_2
    delta = mean_2 - mean
    squares = variance * count + variance_2 * count_2 + delta**2 * count * count_2 / total
    return total, mean + delta * count_2 / total, squares / total


class ObsNormalizer(nn.Module):
    """The first `size` columns of observations, or the numbers of packed rows, to mean 0 and
    deviation 1, clipped after; an action mask behind them stays as it is.
    """

    def __init__(self, size: int, mask_size: int = 0, packed_parts: Sequence[Part] = ()) -> None:
        super().__init__()
        self.size, self.moments = size, RunningMoments(size)
        self._mask_size, self._packed_parts = mask_size, packed_parts

    def numbers(self, obs: Tensor) -> Tensor:
        """The numbers [..., size] of rows `obs` that are normalised."""
        return as_numbers(obs, self._packed_parts) if self._packed_parts else obs[..., : self.size]

    def forward(self, obs: Tensor) -> Tensor:
        centred = self.numbers(obs) - self.moments.mean.float()
        normalized = (centred / self.moments.deviation).clamp(-CLIP, CLIP)
        if not self._mask_size:
            return normalized
        return torch.cat([normalized, obs[..., -self._mask_size :]], -1)


def make_obs_normalizer(spec: Spaces, normalizes: bool) -> nn.Module:
    """The normaliser of an environment's observations, or one that does nothing."""
    if not normalizes:
        return nn.Identity()
    packed_parts = spec.obs_parts if is_packed(spec) else ()
    return ObsNormalizer(num_numbers(spec), spec.mask_size, packed_parts)


def observe(
    normalizer: nn.Module, pieces: Iterable[Tensor], ranks: ProcessGroup | None = None
) -> None:
    """Update the statistics of `normalizer`, if it has any, with the observations of all ranks;
    `pieces` [B, D] are those of this one.
    """
    if isinstance(normalizer, ObsNormalizer):
        normalizer.moments.update_over(ranks, map(normalizer.numbers, pieces))


def discount_tensors(
    rewards: Tensor, dones: Tensor, gamma: float, running: Tensor, returns: Tensor
) -> None:
    """The compiled `discount` for tensors of any device."""
    for t, (reward, done) in enumerate(zip(rewards, dones, strict=True)):
        # One rounding, as in the compiled loop.
        torch.add(reward, running, alpha=gamma, out=running)
        returns[t] = running
        running.masked_fill_(done, 0.0)


class RewardNormalizer(nn.Module):
    """Rewards divided by the deviation of the discounted return; their mean is left alone."""

    def __init__(self, num_rows: int, gamma: float, ranks: ProcessGroup | None = None) -> None:
        super().__init__()
        self._gamma, self._ranks = gamma, ranks
        self.moments = RunningMoments(1)
        self.returns: Tensor
        self.register_buffer("returns", torch.zeros(num_rows, dtype=torch.float64))

    @torch.no_grad()
    def normalized(self, rewards: Tensor, dones: Tensor, valid: Tensor | None = None) -> Tensor:
        """`rewards` [T, N] scaled, after taking them into the statistics; `dones` [T, N] ends the
        return of an environment after its reward counted. Only `valid` ones count at all.
        """
        if valid is not None:
            rewards = rewards.masked_fill(~valid, 0.0)
        returns = self._discounted(rewards.nan_to_num(0.0, 0.0, 0.0), dones)
        counted = returns.flatten() if valid is None else returns[valid]
        self.moments.update_over(self._ranks, [counted.unsqueeze(1)])
        return (rewards / self.moments.deviation).clamp(-CLIP, CLIP)

    def _discounted(self, rewards: Tensor, dones: Tensor) -> Tensor:
        """The sums [T, N] that are kept in `returns`, after every step."""
        returns = torch.empty(rewards.shape, dtype=torch.float64, device=rewards.device)
        if rewards.device.type == "cpu":
            arrays = (x.numpy() for x in (self.returns, returns))
            discount(rewards.numpy(), dones.numpy(), self._gamma, *arrays)
        else:
            discount_tensors(rewards, dones, self._gamma, self.returns, returns)
        return returns


class Rewards:
    """Rewards as a run wants to learn from them, and the statistics that this takes."""

    def __init__(
        self,
        num_rows: int,
        gamma: float,
        *,
        limit: float,
        normalizes: bool,
        device: torch.device,
        ranks: ProcessGroup,
    ) -> None:
        """Rewards of `num_rows` are cut to `limit`, unless it is 0, and divided by the deviation of
        the return where it `normalizes`.
        """
        self._limit, self._ranks = limit, ranks
        self.normalizer = (
            RewardNormalizer(num_rows, gamma, ranks).to(device) if normalizes else None
        )

    def of(self, rollout: Rollout) -> Tensor:
        """Rewards [T, N] cut, then scaled by statistics that take them in."""
        rewards = rollout.rewards
        if self._limit:
            rewards = rewards.clamp(-self._limit, self._limit)
        if self.normalizer:
            rewards = self.normalizer.normalized(rewards, rollout.dones, rollout.valid)
        return rewards

    @property
    def loops(self) -> tuple[object, ...]:
        """The compiled ones that are called."""
        return (discount,) if self.normalizer else ()

    def state_dict(self) -> dict[str, dict[str, Tensor]]:
        """The statistics in use, in main memory, of the rows of all ranks."""
        if not self.normalizer:
            return {}
        state = {name: x.cpu() for name, x in self.normalizer.state_dict().items()}
        return {STATISTICS: {**state, "returns": self._ranks.gather(state["returns"])}}

    def load_state_dict(self, state: State) -> None:
        """`state` may have more than these statistics."""
        if self.normalizer:
            saved = state[STATISTICS]
            returns = self._ranks.my_slice(saved["returns"])
            self.normalizer.load_state_dict({**saved, "returns": returns})

    def forget_episodes(self) -> None:
        """The episodes under way are no more."""
        if self.normalizer:
            self.normalizer.returns.zero_()


def numbers_of(obs: Tensor, part: Part) -> Tensor:
    """The numbers [..., part.obs_size] of a part, from rows `obs` [..., D]; bytes or float32.

    Rows are packed bytes in which the parts lie side by side, each in its own type, or numbers in
    which the same parts are flattened and joined as Gymnasium's `flatten` does it: those of ONNX
    files and of direct calls of a policy.
    """
    if obs.dtype is not torch.uint8:
        return obs[..., part.start : part.start + part.obs_size]
    packed = obs[..., part.offset : part.offset + part.obs_bytes]
    return packed if part.obs_type is np.uint8 else packed.view(torch.float32)


def as_numbers(obs: Tensor, parts: Sequence[Part]) -> Tensor:
    """Rows of numbers [..., total of the parts], float32, without an action mask."""
    return torch.cat([numbers_of(obs, part).float() for part in parts], -1)
