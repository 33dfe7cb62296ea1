"""What the outputs of a value network mean: values, or distributions of returns."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn


class Head(Protocol):
    """From outputs [B, num_actions * num_atoms] to what they say of each action."""

    num_atoms: int

    def values(self, outputs: Tensor) -> Tensor:
        """Expected returns [B, num_actions]."""


class PlainHead(nn.Module):
    """Outputs are the values."""

    num_atoms = 1

    def values(self, outputs: Tensor) -> Tensor:
        return outputs


class CategoricalHead(nn.Module):
    """Logits of the probabilities that the return is each of `num_atoms` numbers, evenly spaced
    from `lowest` to `highest`. Source: Bellemare et al. 2017, arXiv:1707.06887, section 4.
    """

    def __init__(self, lowest: float, highest: float, num_atoms: int = 51) -> None:
        super().__init__()
        self.lowest, self.highest, self.num_atoms = lowest, highest, num_atoms
        self.atoms: Tensor
        self.register_buffer("atoms", torch.linspace(lowest, highest, num_atoms), persistent=False)

    def logits(self, outputs: Tensor) -> Tensor:
        """[B, num_actions, num_atoms]."""
        return torch.unflatten(outputs, -1, (-1, self.num_atoms))

    def values(self, outputs: Tensor) -> Tensor:
        return self.logits(outputs).softmax(-1) @ self.atoms


class QuantileHead(nn.Module):
    """The return's quantiles at the middles of `num_atoms` equal parts.

    Source: Dabney et al. 2018, arXiv:1710.10044, section 3.
    """

    def __init__(self, num_atoms: int = 200) -> None:
        super().__init__()
        self.num_atoms = num_atoms
        self.taus: Tensor
        self.register_buffer("taus", middles(num_atoms), persistent=False)

    def quantiles(self, outputs: Tensor) -> Tensor:
        """[B, num_actions, num_atoms]."""
        return torch.unflatten(outputs, -1, (-1, self.num_atoms))

    def values(self, outputs: Tensor) -> Tensor:
        return self.quantiles(outputs).mean(-1)


def middles(num: int) -> Tensor:
    """(i + 1/2) / num [num], the middles of equal parts of [0, 1]."""
    return (torch.arange(num) + 0.5) / num
