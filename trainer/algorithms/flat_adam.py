"""Adam on one flat tensor: torch's fused one, which can be captured.

Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-5  # as is usual for PPO, Huang et al. 2022, detail 3


class FlatAdam:
    """`mean` and `square` [P] are the running moments of the gradients, `age` [] float32 their age.

    All lie with the parameters. A learning rate may be a number or a scalar tensor.
    """

    def __init__(self, parameters: Tensor, epsilon: float = EPSILON) -> None:
        """Moves `parameters` [P] in place."""
        self._epsilon = epsilon
        self._parameters = parameters
        self.mean, self.square = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.age = torch.zeros((), device=parameters.device)
        self._rate = torch.zeros((), device=parameters.device)
        self.gradient: Tensor | None = None  # [P], of the newest step, for those who look at it

    @property
    def num_steps(self) -> int:
        """Steps taken; waits for the device."""
        return int(self.age)

    @torch.no_grad()
    def step(self, gradients: Tensor, learning_rate: Any, active: Tensor | None = None) -> None:
        """Move the parameters against `gradients` [P]; nothing happens where `active` [] is 0."""
        self.gradient = gradients
        if isinstance(learning_rate, Tensor):
            self._rate.copy_(learning_rate)
        else:
            self._rate.fill_(learning_rate)
        # The function itself: the optimizer around it takes as long as the step of a small network.
        adam(
            [self._parameters], [gradients], [self.mean], [self.square], [], [self.age],
            fused=True, lr=self._rate, beta1=BETA_1, beta2=BETA_2, eps=self._epsilon,
            weight_decay=0.0, amsgrad=False, maximize=False,
            # Mixed precision's way to skip a step without asking the host.
            found_inf=None if active is None else (active == 0).to(torch.float32),
        )  # fmt: skip

    def state_dict(self) -> dict[str, Tensor | int]:
        """In main memory."""
        return {
            "mean": self.mean.cpu().clone(), "square": self.square.cpu().clone(),
            "num_steps": self.num_steps,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Tensor | int]) -> None:
        self.mean.copy_(torch.as_tensor(state["mean"]))
        self.square.copy_(torch.as_tensor(state["square"]))
        self.age.fill_(int(state["num_steps"]))
