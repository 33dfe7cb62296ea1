"""Running statistics of observations and returns: exact in float64, merged once a rollout."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..compiled.normalizing import discount
from ..ranks.single import SINGLE, Ranks

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
    """Observations to mean 0 and deviation 1, clipped after."""

    def __init__(self, obs_size: int) -> None:
        super().__init__()
        self.moments = RunningMoments(obs_size)

    def forward(self, obs: Tensor) -> Tensor:
        centred = obs - self.moments.mean.float()
        return (centred / self.moments.deviation).clamp(-CLIP, CLIP)


def observe(normalizer: nn.Module, obs: Tensor) -> None:
    """Take obs [..., D] into the statistics of `normalizer`, where it keeps any."""
    if isinstance(normalizer, ObsNormalizer):
        normalizer.moments.update(obs.flatten(0, -2))


class RewardNormalizer(nn.Module):
    """Rewards divided by the deviation of the discounted return; their mean is left alone."""

    of_rows = "returns"  # the part of its state that has a number for each row

    def __init__(self, num_rows: int, gamma: float, ranks: Ranks = SINGLE) -> None:
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
        self._ranks.take_in(self.moments, [counted.unsqueeze(1)])
        return (rewards / self.moments.deviation).clamp(-CLIP, CLIP)

    def _discounted(self, rewards: Tensor, dones: Tensor) -> Tensor:
        """The sums [T, N] that are kept in `returns`, after every step."""
        returns = torch.empty(rewards.shape, dtype=torch.float64, device=rewards.device)
        if rewards.device.type == "cpu":
            arrays = (x.numpy() for x in (self.returns, returns))
            discount(rewards.numpy(), dones.numpy(), self._gamma, *arrays)
            return returns
        for t, (reward, done) in enumerate(zip(rewards, dones, strict=True)):
            # One rounding, as in the compiled loop.
            torch.add(reward, self.returns, alpha=self._gamma, out=self.returns)
            returns[t] = self.returns
            self.returns.masked_fill_(done, 0.0)
        return returns


class RewardCentring(nn.Module):
    """Rewards less their slow average in each row: what is learned is how much better than usual.

        centred_t = r_t - mean_t        mean_t+1 = mean_t + rate * (r_t - mean_t)

    Source: Naik et al. 2024, "Reward centering", arXiv:2405.09999, eq. 4.
    """

    of_rows = "mean"

    def __init__(self, num_rows: int, rate: float) -> None:
        super().__init__()
        self._rate = rate
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(num_rows, dtype=torch.float64))

    @torch.no_grad()
    def centred(self, rewards: Tensor, valid: Tensor | None = None) -> Tensor:
        """`rewards` [T, N] less the averages before them; only `valid` ones change these."""
        centred = torch.empty_like(rewards)
        for t, reward in enumerate(rewards):
            torch.sub(reward, self.mean.to(reward.dtype), out=centred[t])
            step = (reward - self.mean) * self._rate
            counts = step.isfinite() if valid is None else valid[t] & step.isfinite()
            self.mean += step.masked_fill(~counts, 0.0)
        return centred
