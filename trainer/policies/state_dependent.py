"""Noise that depends on the state and stays the same for a while: generalised SDE."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .encoder import Encoder
from .mlp import ACTIVATIONS, in_precision, init_default, make_mlp
from .network import Network

MAX_MEAN = 2.0
EPSILON = 1e-6


class StateDependentNetwork(Network):
    """Means and deviations of actions, the latter from the last hidden features h(s).

        u = mean(s) + E^T h(s),  E_ij ~ N(0, std_ij^2),  so  std(s)^2 = (h^2) @ (std^2)

    Outputs [B, 2 A] are means, within 2 of 0, and logarithms of std(s), as `squashed` takes them.
    `matrices` [num_envs, H, A] are the E that environments explore with until they are drawn anew.
    Source: Raffin et al. 2021, arXiv:2005.05719, section 3.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        action_size: int,
        activation: str,
        num_envs: int,
        *,
        seed: int,
        initial_log_std: float = -3.0,
        encoder: Encoder | None = None,
    ) -> None:
        """`sizes` are those of observations, or of an encoder's features, and hidden layers.
        Weights are of `seed` alone.
        """
        super().__init__()
        self.features = make_mlp(sizes, ACTIVATIONS[activation], is_last=False)
        self.mean = nn.Linear(sizes[-1], action_size)
        self.log_std = nn.Parameter(torch.full((sizes[-1], action_size), initial_log_std))
        init_default(self, torch.Generator().manual_seed(seed))
        self.encoder = nn.Identity() if encoder is None else encoder
        self.matrices: Tensor
        self.register_buffer("matrices", torch.zeros(num_envs, sizes[-1], action_size))
        self.flatten()

    @in_precision
    def forward(self, obs: Tensor) -> Tensor:
        features = self.features(self.encoder(obs))
        # Squares and logarithms are of float32: autocast sees to that on a GPU alone.
        variance = features.float().square() @ (2 * self.log_std).exp()
        mean = self.mean(features).clamp(-MAX_MEAN, MAX_MEAN)
        return torch.cat([mean, 0.5 * (variance.float() + EPSILON).log()], -1)

    @property
    def num_noise(self) -> int:
        """How many numbers the matrices are made from."""
        return self.matrices.numel()

    def take_noise(self, normals: Tensor) -> None:
        """Make the matrices, in place, from standard normal numbers [`num_noise`]."""
        matrices = normals.view_as(self.matrices)
        with torch.no_grad():
            torch.mul(matrices, self.log_std.exp(), out=self.matrices)

    @in_precision
    def explored(self, obs: Tensor) -> Tensor:
        """u [num_envs, A] of obs [num_envs, D], a row for each environment."""
        features = self.features(self.encoder(obs))
        mean = self.mean(features).clamp(-MAX_MEAN, MAX_MEAN)
        noise: Tensor = torch.bmm(features.unsqueeze(1), self.matrices).squeeze(1)
        explored: Tensor = mean + noise
        return explored
