"""Values of states, and what actions add to them, as streams of their own."""

from __future__ import annotations

from torch import Tensor, nn


class Dueling(nn.Module):
    """Q(s, a) = V(s) + A(s, a) - mean_a A(s, a), each atom of a distribution by itself.

    `trunk` is what both streams share; outputs are [B, num_actions * num_atoms].
    Source: Wang et al. 2016, arXiv:1511.06581, eq. 9.
    """

    def __init__(
        self, trunk: nn.Module, value: nn.Module, advantage: nn.Module, num_atoms: int
    ) -> None:
        super().__init__()
        self.trunk, self.value, self.advantage = trunk, value, advantage
        self.num_atoms = num_atoms

    def forward(self, x: Tensor) -> Tensor:
        x = self.trunk(x)
        advantages = self.advantage(x).unflatten(-1, (-1, self.num_atoms))
        values = self.value(x).unsqueeze(-2) - advantages.mean(-2, keepdim=True)
        outputs: Tensor = (values + advantages).flatten(-2)
        return outputs
