"""Adam on one flat tensor, which can be captured, and scaling of gradients that are too large.

Source: Kingma and Ba 2015, arXiv:1412.6980, algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

from ..distributed.process_group import LOCAL, ProcessGroup
from ..machine.values import State
from ..memory.replay import Batch
from ..memory.rollout import Rollout

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-5  # usual for PPO, Huang et al. 2022, detail 3

FROM_NETWORKS = (
    "its observations, actions and rewards are finite, so NaN or infinity came from the networks"
)


class FlatAdam:
    """Adam. `mean` and `square` [P] are the running moments of the gradients, `age` [] float32
    counts their steps.

    All are on the parameters' device. A learning rate may be a number or a scalar tensor.
    """

    def __init__(self, parameters: Tensor, epsilon: float = EPSILON) -> None:
        """Optimizes `parameters` [P] in place."""
        self._epsilon, self.beta_1 = epsilon, BETA_1
        self._parameters = parameters
        self.mean, self.square = torch.zeros_like(parameters), torch.zeros_like(parameters)
        self.age = torch.zeros((), device=parameters.device)
        self._rate = torch.zeros((), device=parameters.device)
        self.gradient: Tensor | None = None  # [P], of the newest step, for inspection

    @property
    def num_steps(self) -> int:
        """The number of steps taken; waits for the device."""
        return int(self.age)

    @torch.no_grad()
    def step(self, gradients: Tensor, learning_rate: Any, active: Tensor | None = None) -> None:
        """Move the parameters by `gradients` [P]; do nothing if `active` [] is 0."""
        self.gradient = gradients
        if isinstance(learning_rate, Tensor):
            self._rate.copy_(learning_rate)
        else:
            self._rate.fill_(learning_rate)
        # torch's function: its optimizer class would add as much as a small network's step takes.
        adam(
            [self._parameters],
            [gradients],
            [self.mean],
            [self.square],
            [],
            [self.age],
            fused=True,
            lr=self._rate,
            beta1=self.beta_1,
            beta2=BETA_2,
            eps=self._epsilon,
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
            # Mixed precision skips steps this way, without waiting for the device.
            found_inf=None if active is None else (active == 0).to(torch.float32),
        )

    def state_dict(self) -> dict[str, Tensor | int]:
        """The state in main memory."""
        return {
            "mean": self.mean.cpu().clone(),
            "square": self.square.cpu().clone(),
            "num_steps": self.num_steps,
        }

    def load_state_dict(self, state: Mapping[str, Tensor | int]) -> None:
        self.mean.copy_(torch.as_tensor(state["mean"]))
        self.square.copy_(torch.as_tensor(state["square"]))
        self.age.fill_(int(state["num_steps"]))


def scaled_down(gradients: Tensor, max_norm: float) -> Tensor:
    """Scale `gradients` in place to norm `max_norm` if their norm is larger; return that norm."""
    norm: Tensor = gradients.norm()
    gradients.mul_((max_norm / (norm + 1e-8)).clamp(max=1.0))
    return norm


class FiniteUpdates:
    """Skips updates that are not finite, and counts them in `num_skipped`: on the host if it runs
    every update, on the device if graphs do.
    """

    def __init__(self, is_inline: bool, device: torch.device) -> None:
        self._is_inline = is_inline
        zero = torch.zeros((), dtype=torch.int64, device=device)
        self.num_skipped: Any = 0 if is_inline else zero
        self._origin, self._has_notified = "", False

    def moving(
        self, checked: Tensor, moves: Tensor | None, origin: Callable[[], str]
    ) -> Tensor | None:
        """`moves`, or 0 if `checked` [], a sum of everything to check, is not finite. `origin`
        returns a sentence on the cause; it is called the first time only.
        """
        if not self._is_inline:
            is_finite = checked.isfinite()
            is_skipped = is_finite.logical_not()
            self.num_skipped += is_skipped if moves is None else is_skipped * (moves != 0)
            return is_finite.float() if moves is None else moves * is_finite
        if math.isfinite(float(checked)):
            return moves
        if moves is None or moves:  # else it is skipped anyway
            self.skip(1, origin)
        return torch.zeros(())

    def skip(self, count: int, origin: Callable[[], str]) -> None:
        """Count updates that moved nothing, as the host knows."""
        if count and not self.num_skipped:
            self._origin = origin()
        self.num_skipped += count

    def notices(self) -> list[str]:
        """New notices, each returned once; waits for the device."""
        if self._has_notified or not int(self.num_skipped):
            return []
        self._has_notified = True
        because = f": {self._origin}" if self._origin else ""
        return [
            f"an update was skipped, since its gradient was not finite{because}; updates/skipped "
            "counts such updates"
        ]

    def state_dict(self) -> State:
        return {"num_skipped": int(self.num_skipped), "has_notified": self._has_notified}

    def load_state_dict(self, state: State) -> None:
        self.num_skipped = set_count(self.num_skipped, state["num_skipped"])
        self._has_notified = state["has_notified"]
        self._origin = "that was before the run was resumed"


def origin_of_nan(batch: Batch, ranks: ProcessGroup = LOCAL) -> str:
    """A sentence on which parts of a minibatch are not finite, in any of the ranks."""
    fields = {
        "observations": (batch.obs, batch.next_obs),
        "actions": (batch.actions,),
        "rewards": (batch.returns,),
        "importance weights": (batch.weights,),
    }
    bad = [not all(map(is_finite, parts)) for parts in fields.values()]
    num_bad = ranks.sum(torch.tensor(bad, dtype=torch.int64)).tolist()
    found = [name for name, count in zip(fields, num_bad, strict=True) if count]
    if not found:
        return FROM_NETWORKS
    return f"the {' and '.join(found)} of its minibatch are not finite"


def is_finite(x: Tensor) -> bool:
    return bool(x.isfinite().all())


def origin_in_rollout(rollout: Rollout) -> str:
    """The first number of a rollout that is not finite, in a sentence; empty where all are."""
    truncated = rollout.truncated.unsqueeze(-1)
    finals = rollout.final_obs
    if not rollout.finals_in_order:  # else those of no episode are 0
        finals = finals.masked_fill(~truncated, 0)
    tensors = {
        "observation": rollout.obs,
        "final observation": finals,
        "reward": rollout.rewards,
        "action": rollout.actions,
    }
    for name, tensor in tensors.items():
        found = torch.nonzero(~tensor.isfinite())
        if len(found):
            step, row, *place = found[0].tolist()
            value = float(tensor[step, row].flatten()[place[0] if place else 0])
            who = "the policy" if name == "action" else "an environment"
            text = f"{who} gave the {name} {value} (in step {step} of row {row} of the rollout)"
            if name == "observation" and rollout.actions.is_floating_point():
                text += ", and may get actions that are nan for such observations"
            return text
    return ""


def set_count(count: Any, value: int) -> Any:
    """A count set to `value`: in place if it is a tensor, which graphs refer to. Raises ValueError
    for a damaged checkpoint.
    """
    value = int(value)
    return count.fill_(value) if isinstance(count, Tensor) else value


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
    """The loss scale of precisions in which gradients do not vanish: none."""

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
