"""Stepping environments in groups: while one is stepped, actions of another are computed."""

from __future__ import annotations

from typing import Any

import torch

from ..envs.workers.hosted import HostedEnvs
from ..machine.threads import one_torch_thread
from ..memory.rollout import Rollout
from ..policies.policy import Policy
from .collector import Collector, needs_one_piece


class GroupedCollector(Collector):
    """Steps the k groups of `HostedEnvs` in order, each as soon as it has its actions.

    With t_policy for the actions of a group and t_step for its step, a step of all takes about
    max(k t_policy, t_policy + t_step), and not k t_policy + t_step. A rollout ends when all groups
    have come to its end, since an update changes the policy for all of them.

    The noise of a step is that of its place [t, n], whatever group n is in.
    """

    envs: HostedEnvs

    def __init__(self, envs: HostedEnvs, policy: Policy, *arguments: Any, **options: Any) -> None:
        """`arguments` and `options` are those of `Collector`."""
        assert not needs_one_piece(policy)  # the plan refuses it
        super().__init__(envs, policy, *arguments, **options)
        self._led_to = [torch.empty(0)] * len(envs.groups)  # of each group, states after its step

    @torch.inference_mode()
    def collect(self) -> Rollout:
        """Step every environment T times; returns the rollout, whose memory is reused."""
        rollout, policy, envs = self.rollout, self._policy, self.envs
        rollout.obs[0] = rollout.obs[-1]
        noise = self._begin()
        for t in range(len(self._transitions)):
            for group, rows in enumerate(envs.groups):
                if t:
                    self._receive(group, t - 1)
                actions, log_probs, self._led_to[group] = self._act_step(t, noise[t, rows], rows)
                envs.send(group, policy.env_actions(actions).numpy())
                # While it steps.
                rollout.actions[t, rows] = actions
                if log_probs is not None:
                    rollout.log_probs[t, rows] = log_probs
        for group in range(len(envs.groups)):
            self._receive(group, len(self._transitions) - 1)
        self._finish()
        return rollout

    def _receive(self, group: int, t: int) -> None:
        """What step `t` of a group led to."""
        rows = self.envs.groups[group]
        self.envs.receive(group, self._transitions[t])
        one_torch_thread()
        self._after(t, self._led_to[group], rows)
        self.env_steps_under_way += rows.stop - rows.start
        self._tick()
