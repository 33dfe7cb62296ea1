"""Keeping small slopes from vanishing in float16."""

from __future__ import annotations

import torch
from torch import Tensor

from ..machine.values import State

START = 2.0**16
PATIENCE = 2_000  # updates without an overflow after which the scale is doubled


class LossScale:
    """Slopes are multiplied by `scale` [] before they go through float16, and gradients divided by
    it after. Where a gradient is not finite, nothing moves and, if the loss itself is, the scale is
    halved: it was too large.

    Source: Micikevicius et al. 2018, arXiv:1710.03740, section 3.2.
    """

    def __init__(self, device: torch.device) -> None:
        self.scale = torch.full((), START, device=device)
        self._num_finite = torch.zeros((), device=device)  # updates since it last changed

    def up(self, slopes: Tensor) -> Tensor:
        return slopes * self.scale

    def down(self, gradient: Tensor, loss: Tensor, active: Tensor | None) -> tuple[Tensor, Tensor]:
        """The gradient [P] of the `loss` [] itself, and whether weights move by it: 1 or 0. Nothing
        happens to the scale where the loss is not finite, or `active` is 0.
        """
        is_finite = gradient.isfinite().all()
        counts = loss.isfinite() if active is None else loss.isfinite() & (active != 0)
        gradient = torch.where(is_finite, gradient / self.scale, 0.0)
        is_active = is_finite.float() if active is None else active * is_finite
        self._num_finite.add_(counts).mul_(is_finite | ~counts)
        grows = self._num_finite >= PATIENCE
        self._num_finite.mul_(grows.logical_not())
        factor = torch.where(is_finite, torch.where(grows, 2.0, 1.0), 0.5)
        self.scale.mul_(torch.where(counts, factor, 1.0))
        return gradient, is_active

    def state_dict(self) -> State:
        return {"scale": float(self.scale), "num_finite": float(self._num_finite)}

    def load_state_dict(self, state: State) -> None:
        self.scale.fill_(state["scale"])
        self._num_finite.fill_(state["num_finite"])


class NoScale:
    """What takes its place where slopes do not vanish."""

    def up(self, slopes: Tensor) -> Tensor:
        return slopes

    def down(
        self, gradient: Tensor, loss: Tensor, active: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        return gradient, active

    def state_dict(self) -> State:
        return {}

    def load_state_dict(self, state: State) -> None:
        return


def make_loss_scale(precision: str, device: torch.device) -> LossScale | NoScale:
    return LossScale(device) if precision == "float16" else NoScale()
