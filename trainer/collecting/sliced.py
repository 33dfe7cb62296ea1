"""Collecting with operant's own environments, some of them on each core."""

from __future__ import annotations

import threading
from typing import Any

import torch

from ..envs.vector import VectorEnv
from ..memory.rollout import Rollout
from .collector import Collector


class SlicedCollector(Collector):
    """Steps each piece of the environments from the beginning of a rollout to its end: pieces wait
    for one another once in a rollout, and not in every step. If there are too few environments for
    several pieces, it steps all of them like `Collector`.

    The noise of a step belongs to its place [t, n], whatever piece n is in.
    """

    envs: VectorEnv

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """The arguments are those of `Collector`."""
        super().__init__(*arguments, **options)
        self._env_actions = self._policy.env_actions(self.rollout.actions[0]).clone()
        self._counting = threading.Lock()

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        if len(self._pieces) == 1:
            return super().collect()
        rollout = self.rollout
        rollout.obs[0] = rollout.obs[-1]
        noise, caller = self._begin(), threading.get_ident()

        def live(rows: slice) -> None:
            for t, transitions in enumerate(self._transitions):
                actions, log_probs, states = self._act_step(t, noise[t, rows], rows)
                rollout.remember(t, actions, log_probs, rows)
                self._env_actions[rows] = self._policy.env_actions(actions)
                self.envs.step_some(rows, self._env_actions.numpy(), transitions)
                self._after(t, states, rows)
                with self._counting:
                    self.env_steps_under_way += rows.stop - rows.start
                if threading.get_ident() == caller:  # who otherwise ticks while it waits
                    self._tick()

        for _ in self._each(live, self._pieces):
            pass
        self._finish()
        return rollout
