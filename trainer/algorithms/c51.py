"""Categorical distributions of returns. Source: Bellemare et al. 2017, arXiv:1707.06887."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..distributed.reductions import by_rank
from ..machine.values import Scalar, State
from ..memory.replay import Batch
from ..memory.rollout import Rollout
from ..policies.q_network import QPolicy
from ..policies.value_network import CategoricalHead
from ..returns.distributional import cross_entropy, projected
from ..spaces import Spaces
from .algorithm import LearnerSettings, Metrics
from .value_based import Losses, ValueBased, into_outputs, make_q_policy, of_actions


class C51(ValueBased):
    """The probabilities of the return's atoms go towards the target's, projected onto them."""

    def __init__(self, settings: LearnerSettings, policy: QPolicy, **options: Any) -> None:
        super().__init__(settings, policy, **options)
        # The lowest and the highest return that a target had, as wide as rewards take it.
        device = policy.flat_parameters.device
        self._seen = torch.tensor([math.inf, -math.inf], device=device)
        self._has_warned = False

    @staticmethod
    def make_policy(settings: LearnerSettings, spec: Spaces, seed: int) -> QPolicy:
        section = settings.section
        head = CategoricalHead(section.lowest, section.highest, section.num_atoms)
        return make_q_policy(settings, spec, seed, head)

    def losses(self, batch: Batch, outputs: Tensor, next_obs: Tensor) -> Losses:
        section, head = self.section, self._head
        probs = head.logits(self.target(next_obs)).softmax(-1)
        best = self.best_next(probs @ head.atoms, next_obs)
        next_probs = of_actions(probs, best)
        self._see(batch.returns + batch.discounts * (next_probs @ head.atoms))
        target = projected(
            batch.returns, batch.discounts, next_probs, section.lowest, section.highest
        )
        logits = head.logits(outputs)
        taken = of_actions(logits, batch.actions)
        loss = cross_entropy(taken, target)
        value = taken.softmax(-1) @ head.atoms
        error = (value - target @ head.atoms).abs()
        by_outputs = into_outputs(loss.slopes, batch.actions, logits.shape[1])
        return Losses(loss.values, error, loss.values, value, by_outputs)

    @property
    def _head(self) -> CategoricalHead:
        head = self.network.head
        assert isinstance(head, CategoricalHead)
        return head

    def _see(self, targets: Tensor) -> None:
        self._seen[0] = torch.minimum(self._seen[0], targets.amin())
        self._seen[1] = torch.maximum(self._seen[1], targets.amax())

    def update(self, rollout: Rollout, progress_fraction: Scalar) -> Metrics:
        self._see_of_all()
        return super().update(rollout, progress_fraction)

    def _see_of_all(self) -> None:
        """Take in what other ranks have seen: the first alone tells people."""
        if self.ranks.size > 1:
            lowest, highest = by_rank(self.ranks, self._seen).unbind(1)
            self._seen.copy_(torch.stack([lowest.amin(), highest.amax()]))

    def look(self) -> None:
        super().look()
        if not self._has_warned:
            self._warn()

    def state_dict(self) -> State:
        self._see_of_all()
        return {**super().state_dict(), "seen": self._seen.tolist(), "warned": self._has_warned}

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self._seen.copy_(torch.tensor(state["seen"]))
        self._has_warned = state["warned"]

    def _warn(self) -> None:
        """Say once that the atoms do not reach as far as returns do."""
        section, (lowest, highest) = self.section, self._seen.tolist()
        if lowest < section.lowest or highest > section.highest:
            self._has_warned = True
            name = self.settings.algorithm
            self._notices.append(
                f"returns from {lowest:.4g} to {highest:.4g} were seen, and the atoms go from "
                f"{name}.lowest = {section.lowest:g} to {name}.highest = {section.highest:g}"
            )
