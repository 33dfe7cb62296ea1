"""Adam in one kernel, with its coefficients on the device."""

from __future__ import annotations

import math

import torch
from numpy import float32
from torch import Tensor

from ..adam import BETA_1, BETA_2, EPSILON
from .kernel import Kernel

_WEIGHT_1, _WEIGHT_2 = float32(1 - BETA_1), float32(1 - BETA_2)
_EPSILON = float32(EPSILON)


def adam_one(i, arguments):
    """`Adam.step` for parameter `i`, where `active` says that there is one to take."""
    parameters, gradients, mean, square, num_steps, learning_rate, active = arguments
    if active[0] == 0:
        return
    rate = float32(learning_rate[0] / (1.0 - BETA_1 ** num_steps[0]))
    correction = float32(1.0 / (1.0 - BETA_2 ** num_steps[0]))
    gradient = gradients[i]
    mean[i] += _WEIGHT_1 * (gradient - mean[i])
    square[i] += _WEIGHT_2 * (gradient * gradient - square[i])
    parameters[i] -= rate * mean[i] / (float32(math.sqrt(square[i] * correction)) + _EPSILON)


KERNEL = Kernel(adam_one, "any")


class CudaAdam:
    """`Adam` whose age is on the device: `num_steps` [1] float64."""

    def __init__(self, parameters: Tensor) -> None:
        self._parameters = parameters
        self.mean = torch.zeros_like(parameters)
        self.square = torch.zeros_like(parameters)
        self.num_steps = torch.zeros(1, dtype=torch.float64, device=parameters.device)

    def step(self, gradients: Tensor, learning_rate: Tensor, active: Tensor) -> None:
        """Move the parameters against `gradients` [P]; nothing happens where `active` [1] is 0."""
        self.num_steps += active
        KERNEL.launch(
            len(gradients), self._parameters, gradients, self.mean, self.square, self.num_steps,
            learning_rate.reshape(1), active,
        )  # fmt: skip

    def state_dict(self) -> dict[str, Tensor | int]:
        """As `Adam.state_dict`, in main memory."""
        return {
            "mean": self.mean.cpu().clone(),
            "square": self.square.cpu().clone(),
            "num_steps": int(self.num_steps),
        }

    def load_state_dict(self, state: dict[str, Tensor | int]) -> None:
        self.mean.copy_(torch.as_tensor(state["mean"]))
        self.square.copy_(torch.as_tensor(state["square"]))
        self.num_steps.fill_(int(state["num_steps"]))
