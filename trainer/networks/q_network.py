"""Action values, and acting by them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..config import PolicyConfig
from ..envs.spec import Discrete, Spaces
from .mlp import ACTIVATIONS, flattened, init_orthogonal, make_mlp
from .normalizers import ObsNormalizer, observe


class QPolicy(nn.Module):
    """Values Q(s, a) of all actions, and actions that are the best but for a part `epsilon`.

    Layers are normalised before their activations, which bounds what values can drift to without a
    target network. Source: Gallici et al. 2024, arXiv:2407.04811, section 4.
    """

    action_shape: tuple[int, ...] = ()
    action_dtype = torch.int64

    def __init__(self, spec: Spaces, config: PolicyConfig, normalize_obs: bool, seed: int) -> None:
        """Weights are drawn from `seed` alone. Raises TypeError unless actions are discrete."""
        super().__init__()
        if not isinstance(spec.actions, Discrete):
            raise TypeError(f"Q-values of {spec.actions}: there are none but of discrete actions")
        self.num_actions = spec.actions.n
        self.normalizer = ObsNormalizer(spec.obs_size) if normalize_obs else nn.Identity()
        sizes = (spec.obs_size, *config.hidden_sizes, self.num_actions)
        self.network = make_mlp(sizes, ACTIVATIONS[config.activation], layer_norm=True)
        init_orthogonal(self.network, 1.0, torch.Generator().manual_seed(seed))
        self.epsilon: Tensor
        self.register_buffer("epsilon", torch.ones(()))
        self.flat_parameters = flattened(self.parameters_to_learn())

    def to_device(self, device: torch.device) -> None:
        """Move everything there; the weights lie side by side there as well."""
        self.to(device)
        self.flat_parameters = flattened(self.parameters_to_learn())

    def parameters_to_learn(self) -> list[nn.Parameter]:
        """In the order of `flat_parameters`."""
        return list(self.network.parameters())

    def values(self, obs: Tensor) -> Tensor:
        """Q(s, a) of every action [B, num_actions], from obs [B, obs_size]."""
        values: Tensor = self.network(self.normalizer(obs))
        return values

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """[..., 2] in [0, 1): whether to explore, and where to."""
        return torch.rand(*shape, 2, generator=generator, device=generator.device)

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B]: any, where the first of `noise` [B, 2] is below epsilon, else the best."""
        anywhere = (noise[..., 1] * self.num_actions).long().clamp(max=self.num_actions - 1)
        return torch.where(noise[..., 0] < self.epsilon, anywhere, self.greedy(obs)), None

    def greedy(self, obs: Tensor) -> Tensor:
        return self.values(obs).argmax(-1)

    def env_actions(self, actions: Tensor) -> Tensor:
        return actions

    def observe(self, obs: Tensor) -> None:
        """Take obs [..., obs_size] into the running statistics, where there are any."""
        observe(self.normalizer, obs)
