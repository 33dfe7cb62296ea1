"""Gradients, means and deviations over the samples of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..returns import gae
from .process_group import ProcessGroup

if TYPE_CHECKING:
    from ..algorithms.algorithm import Metrics

GradientAndSums = Callable[[], tuple[Tensor, Tensor]]


def mean_gradient(
    ranks: ProcessGroup, num_samples: int, compute: GradientAndSums, like: Tensor, num_means: int
) -> tuple[Tensor, Tensor]:
    """The gradient [P] of the mean loss over the samples of all ranks, and other means [num_means].

    `compute` returns both for the `num_samples` of this rank; it is not called if there are none.
    `like` has the gradient's shape.
    """
    if ranks.size == 1:
        return compute()
    local = None
    if num_samples:
        gradient, means = compute()
        local = gradient, means * num_samples
    gradient, sums, count = sum_gradient(ranks, num_samples, local, like, num_means)
    return gradient, sums / count


def sum_gradient(
    ranks: ProcessGroup,
    num_samples: int,
    local: tuple[Tensor, Tensor] | None,
    like: Tensor,
    num_sums: int,
) -> tuple[Tensor, Tensor, int]:
    """The gradient [P] of the mean loss over the samples of all ranks, other sums [num_sums] over
    them, and their number. `local` is both for the `num_samples` of this rank, or None if there are
    none. `like` has the gradient's shape.
    """
    if ranks.size == 1:
        assert local is not None
        return *local, num_samples
    message = like.new_zeros(len(like) + 1 + num_sums)
    gradient, count, sums = torch.split(message, [len(like), 1, num_sums])
    if local:
        torch.mul(local[0], num_samples, out=gradient)
        count.fill_(num_samples)
        sums.copy_(local[1])
    ranks.sum(message)
    return gradient.div_(count), sums.double(), round(float(count))


def merge_batch(
    ranks: ProcessGroup, share: float, gradient: Tensor, means: Metrics
) -> tuple[Tensor, Metrics]:
    """The gradient [P] of the mean loss of a replay minibatch, and `means`, over its samples in all
    ranks; this rank has drawn a `share` of them.
    """
    if ranks.size == 1:
        return gradient, means
    message = torch.cat([gradient, torch.stack([*means.values()]).to(gradient.dtype)])
    merged_gradient, merged_means = ranks.sum(message.mul_(share)).tensor_split([len(gradient)])
    return merged_gradient, dict(zip(means, merged_means.unbind(), strict=True))


def moments(ranks: ProcessGroup, samples: Sequence[Tensor]) -> Tensor:
    """Count, mean and deviation [S, 3] float64 of each of S sets of samples [B] of all ranks."""
    return moments_of_sums(ranks, torch.stack([_sums(x) for x in samples]))


def moments_of_sums(ranks: ProcessGroup, sums: Tensor) -> Tensor:
    """Like `moments`, from count, sum and sum of squares [S, 3] float64, which it overwrites."""
    count, total, squares = ranks.sum(sums).unbind(1)
    mean = total / count
    variance = (squares - total * mean).clamp_(min=0) / (count - 1)
    return torch.stack([count, mean, variance.sqrt()], 1)


def _sums(samples: Tensor) -> Tensor:
    samples = samples.double()
    return torch.stack([samples.new_tensor(samples.numel()), samples.sum(), samples.square().sum()])


def normalize_advantages(
    ranks: ProcessGroup, advantages: Tensor, among: Tensor | None = None
) -> Tensor:
    """Advantages normalised to mean 0 and deviation 1 over all ranks, by the statistics of `among`
    if it is given.
    """
    if ranks.size == 1:
        return gae.normalized(advantages, among)
    counted = advantages if among is None else among
    return normalized_by(moments(ranks, [counted])[0], advantages)


def normalized_by(moments: Tensor, advantages: Tensor) -> Tensor:
    """Normalise by count, mean and deviation [3] float64. A single advantage is left as it is."""
    count, mean, deviation = moments.tolist()
    return advantages if count < 2 else (advantages - mean) / (deviation + gae.EPSILON)


def explained_variance(ranks: ProcessGroup, returns: Tensor, values: Tensor) -> Tensor:
    """The fraction of the variance of all ranks' returns that the values predict."""
    if ranks.size == 1:
        return gae.explained_variance(returns, values)
    variance, left = moments(ranks, [returns, returns - values])[:, 2].square().unbind()
    return gae.explained(variance, left)


def by_rank(ranks: ProcessGroup, tensor: Tensor) -> Tensor:
    """The tensors of all ranks [size, ...], in the order of ranks."""
    stacked = tensor.new_zeros(ranks.size, *tensor.shape)
    stacked[ranks.rank] = tensor
    return ranks.sum(stacked)
