"""Action values, and acting by them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..spaces import Discrete, Spaces
from .noisy import shaped
from .normalizers import make_obs_normalizer
from .policy import NetworkPolicy, any_legal, masked, stored_obs
from .value_network import ActionValues


class QPolicy(NetworkPolicy):
    """Values Q(s, a) of all actions by a network, and actions that are the best but for a part
    `epsilon`. Where layers are noisy, `act` has their noise, and `greedy` has none.
    """

    network: ActionValues
    action_shape: tuple[int, ...] = ()
    action_dtype = torch.int64

    def __init__(
        self,
        spec: Spaces,
        make_network: Callable[[int, int], ActionValues],
        normalize_obs: bool,
        precision: torch.dtype = torch.float32,
        num_rows: int = 0,
    ) -> None:
        """`make_network` takes the number of observations and of actions; its products are of
        `precision`. Where its layers are noisy, `act` has `num_rows` rows. Raises TypeError unless
        actions are discrete.
        """
        super().__init__()
        if not isinstance(spec.actions, Discrete):
            raise TypeError(f"Q-values of {spec.actions}: there are none but of discrete actions")
        self.num_actions, self._start = spec.actions.n, spec.actions.start
        self.obs_size = spec.obs_size
        self.mask_size = spec.mask_size
        self.stored_obs = stored_obs(spec)
        self.normalizer = make_obs_normalizer(spec, normalize_obs)
        self.network = make_network(spec.obs_size, self.num_actions)
        self.network.set_precision(precision)
        self.flat_parameters = self.network.flat_parameters
        self.epsilon: Tensor
        self.register_buffer("epsilon", torch.ones(()))
        self.is_noisy = self.network.num_noise > 0
        self.row_noise: Tensor  # drawn before every collection, so that no checkpoint needs it
        noise = torch.zeros(num_rows, self.network.num_noise)
        self.register_buffer("row_noise", noise, persistent=False)

    def values(self, obs: Tensor) -> Tensor:
        """Q(s, a) of every action [B, num_actions], from obs [B, obs_size]; no illegal action has
        the highest.
        """
        return masked(self.network.values(self.normalizer(obs)), obs, self.mask_size)

    def noise(self, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
        """[..., 2] in [0, 1): whether to explore, and where to."""
        return torch.rand(*shape, 2, generator=generator, device=generator.device)

    def act(self, obs: Tensor, noise: Tensor) -> tuple[Tensor, None]:
        """Actions [B]: any, where the first of `noise` [B, 2] is below epsilon, else the best.
        Where layers are noisy, every row has the noise that `take_noise` left.
        """
        if self.mask_size:
            anywhere = any_legal(obs, noise[..., 1], self.mask_size)
        else:
            anywhere = (noise[..., 1] * self.num_actions).long().clamp(max=self.num_actions - 1)
        if self.is_noisy:
            with self.network.with_noise_of_rows(self.row_noise):
                best = self.values(obs).argmax(-1)
        else:
            best = self.values(obs).argmax(-1)
        return torch.where(noise[..., 0] < self.epsilon, anywhere, best), None

    @torch.no_grad()
    def take_noise(self, normals: Tensor) -> None:
        """Have `act` explore each of its rows by noise made from `normals` [rows, num_noise],
        standard normal numbers, until the next.
        """
        self.row_noise.copy_(shaped(normals))

    def greedy(self, obs: Tensor) -> Tensor:
        with self.network.without_noise():
            return self.env_actions(self.values(obs).argmax(-1))

    def env_actions(self, actions: Tensor) -> Tensor:
        return actions + self._start if self._start else actions
