"""Adam on one flat tensor. Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1."""

from __future__ import annotations

import torch
from torch import Tensor

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-5  # as is usual for PPO, Huang et al. 2022, detail 3


class Adam:
    """`mean` and `square` [P] are the running moments of the gradients, `num_steps` their age."""

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)
        self.num_steps = 0

    @torch.no_grad()
    def step(self, gradients: Tensor, learning_rate: float) -> None:
        """Move the parameters against `gradients` [P]."""
        self.num_steps += 1
        self.mean.lerp_(gradients, 1 - BETA_1)
        self.square.mul_(BETA_2).addcmul_(gradients, gradients, value=1 - BETA_2)
        correction_1 = 1 - BETA_1**self.num_steps
        correction_2 = 1 - BETA_2**self.num_steps
        deviation = (self.square / correction_2).sqrt_().add_(EPSILON)
        self._parameters.addcdiv_(self.mean, deviation, value=-learning_rate / correction_1)

    def state_dict(self) -> dict[str, Tensor | int]:
        return {
            "mean": self.mean.clone(), "square": self.square.clone(), "num_steps": self.num_steps,
        }  # fmt: skip

    def load_state_dict(self, state: dict[str, Tensor | int]) -> None:
        self.mean.copy_(torch.as_tensor(state["mean"]))
        self.square.copy_(torch.as_tensor(state["square"]))
        self.num_steps = int(state["num_steps"])
