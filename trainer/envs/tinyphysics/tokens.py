"""Lateral acceleration as one of 1024 tokens, and tokens drawn from the model's logits."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...jit.machine_code import kept_on_disk
from .constants import MAX_LATACCEL_M_PER_S2, TEMPERATURE, VOCABULARY_SIZE

# float64: tokens decoded in float32 moved the mean cost by a fifth.
BINS = np.linspace(-MAX_LATACCEL_M_PER_S2, MAX_LATACCEL_M_PER_S2, VOCABULARY_SIZE)


class Tokenizer:
    """Between lataccels in m/s^2, float64, and tokens, int64, on one device."""

    def __init__(self, device: torch.device) -> None:
        self._bins = torch.from_numpy(BINS).to(device)

    def encode(self, lataccels: Tensor) -> Tensor:
        """The first bin that is not below each number: `np.digitize(x, bins, right=True)`."""
        clipped = lataccels.clamp(-MAX_LATACCEL_M_PER_S2, MAX_LATACCEL_M_PER_S2)
        return torch.bucketize(clipped.contiguous(), self._bins, right=False)

    def decode(self, tokens: Tensor) -> Tensor:
        return self._bins[tokens]


def sampled_tokens(logits: NDArray[Any], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """Tokens [B] from logits [B, V] float32 and uniforms [B], rounded as the reference rounds.

    Its steps, in its order and precision: softmax in float32; then, as `np.random.choice` does,
    the cumulative sum in float64 divided by its last element, searched from the right.
    """
    scaled = logits / np.float32(TEMPERATURE)
    scaled -= scaled.max(axis=1, keepdims=True)
    exponentials = np.exp(scaled, out=scaled)
    exponentials /= exponentials.sum(axis=1, keepdims=True)
    tokens = np.empty(len(logits), np.int64)
    _search(exponentials, uniforms, tokens)
    return tokens


@kept_on_disk
@numba.njit(nogil=True, cache=True)
def _search(probabilities, uniforms, tokens):
    """`np.cumsum` in float64 and `searchsorted`, one row after the other: a chunk's probabilities
    stay in the cache, and the other threads are not held up. Without fast maths: sums keep their
    order.
    """
    for row in range(len(probabilities)):
        total = 0.0
        for probability in probabilities[row]:
            total += np.float64(probability)
        cumulative, token = 0.0, 0
        for probability in probabilities[row]:
            cumulative += np.float64(probability)
            if not cumulative / total <= uniforms[row]:  # NaN is the first token
                break
            token += 1
        tokens[row] = token


def sampled_tokens_on_device(logits: Tensor, uniforms: Tensor) -> Tensor:
    """`sampled_tokens` with PyTorch, for logits that are not on the processor."""
    cumulative = (logits.float() / TEMPERATURE).softmax(-1).cumsum(-1, dtype=torch.float64)
    thresholds = (uniforms * cumulative[:, -1]).unsqueeze(1)
    tokens = torch.searchsorted(cumulative, thresholds, right=True).squeeze(1)
    # Rounding can bring a threshold up to the last sum.
    return tokens.clamp(max=logits.shape[1] - 1)
