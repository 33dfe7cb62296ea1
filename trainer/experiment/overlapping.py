"""Collecting the next rollout while the last is learned from, on two streams of one GPU.

What acts is one update behind: rollout k + 1 is by the policy as it was before update k.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..collecting.collector import CollectsRollouts
from ..machine.staged_values import event_maker
from ..machine.values import State
from ..policies.policy import Policy
from .experiment import Collect, Parts
from .graphs import Graphs


class LaggingCollector:
    """Has a `collector` collect with the policy `acting`, a copy of the `policy` that learns.

    Learning sees `rollout` and the totals of its episodes, in memory of their own. What it moves
    and what collecting moves have nothing in common but in `hand_over`.
    """

    def __init__(self, collector: CollectsRollouts, acting: Policy, policy: Policy) -> None:
        self._collector, self._acting, self._policy = collector, acting, policy
        self.rollout = collector.rollout.copy()
        device = self.rollout.rewards.device
        self._episode_totals = torch.zeros(3, dtype=torch.float64, device=device)
        self._copy_policy()

    @torch.no_grad()
    def hand_over(self) -> None:
        """The rollout goes to who learns; the policy, before that, to who acts next."""
        self.rollout.copy_from(self._collector.rollout)
        self._episode_totals.copy_(self._collector.take_episode_totals())
        self._copy_policy()

    def _copy_policy(self) -> None:
        """Weights and statistics, in place: graphs remember where they lie."""
        self._acting.load_state_dict(self._policy.state_dict())

    def take_episode_totals(self) -> Tensor:
        """Totals of the episodes that ended in `rollout`."""
        return self._episode_totals

    def __getattr__(self, name: str) -> Any:
        """Everything else is the collector's."""
        return getattr(self._collector, name)

    def state_dict(self) -> State:
        """The state between iterations, when every collected rollout is learned from."""
        acting = {name: x.cpu() for name, x in self._acting.state_dict().items()}
        return {**self._collector.state_dict(), "acting": acting}

    def load_state_dict(self, state: State) -> None:
        self._collector.load_state_dict(state)
        self._acting.load_state_dict(state["acting"])


class OverlappingGraphs(Graphs):
    """Runs iterations like `Graphs`, but collects rollouts on a stream of their own:

        collect k + 1     after hand_over k
        hand_over k       after collect k and learn k - 1
        learn k           after hand_over k

    so that learn k and collect k + 1 may be under way at once. The order in which they are given to
    the device is that of iterations, and so is all that the host sees.
    """

    _hand_over: Callable[[], None]

    def __init__(self, device: torch.device, capture: bool | None = None) -> None:
        super().__init__(device, capture)
        make_stream: Any = torch.cuda.Stream
        self._aside = make_stream(device) if device.type == "cuda" else None
        make_event = event_maker(device)
        self._collected, self._handed_over = make_event(), make_event()

    def taking(self, parts: Parts) -> Parts:
        """The parts of the experiment that this runs, whose collector is a `LaggingCollector`."""
        assert isinstance(parts.collector, LaggingCollector)
        self._hand_over = parts.collector.hand_over
        return parts

    def aside(self) -> contextlib.AbstractContextManager[Any]:
        """The stream that rollouts are collected on."""
        return torch.cuda.stream(self._aside) if self._aside else contextlib.nullcontext()

    def _collect(self, collect: Collect) -> None:
        if self.iteration == self.num_started:
            with self.prepared():  # nothing is under way, but parts may have been made or loaded
                self._handed_over.record()
        with self.aside():
            self._handed_over.wait()
            self._run_collect(collect)
            self._collected.record()
        with self.prepared():
            self._collected.wait()
            self.run("hand_over", self._hand_over)
            self._handed_over.record()
