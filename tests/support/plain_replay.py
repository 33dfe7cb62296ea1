"""A replay that keeps every transition and looks at them one by one, to hold `Replay` against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from operant.trainer.memory.rollout import Rollout


@dataclass
class Transition:
    obs: torch.Tensor
    action: torch.Tensor
    reward: float
    next_obs: torch.Tensor  # the true one, also where the episode was cut off
    terminated: bool
    truncated: bool
    dead: bool
    number_of_final: int | None  # among the environment's time limits, from 0


@dataclass
class PlainReplay:
    """Every environment's transitions since the beginning, of which the newest `num_steps` count.

    Of final observations the newest `num_finals` of each environment are at hand.
    """

    num_envs: int
    num_steps: int
    num_finals: int
    n_step: int
    gamma: float
    history: list[list[Transition]] = field(default_factory=list)
    num_cut: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.history = [[] for _ in range(self.num_envs)]
        self.num_cut = [0] * self.num_envs

    def write(self, rollout: Rollout) -> None:
        for t in range(len(rollout.rewards)):
            for env in range(self.num_envs):
                dead = rollout.valid is not None and not rollout.valid[t, env]
                terminated = bool(rollout.terminated[t, env])
                truncated = bool(rollout.truncated[t, env]) and not terminated and not dead
                final = rollout.final_obs[t, env] if truncated else rollout.obs[t + 1, env]
                self.history[env].append(
                    Transition(
                        rollout.obs[t, env].clone(), rollout.actions[t, env].clone(),
                        float(rollout.rewards[t, env]), final.clone(), terminated, truncated, dead,
                        self.num_cut[env] if truncated else None,
                    )
                )  # fmt: skip
                self.num_cut[env] += truncated

    def rows(self) -> dict[tuple[int, int], dict[str, Any]]:
        """The transitions that may be drawn, by their number and environment."""
        found = {}
        for env, history in enumerate(self.history):
            for number in range(max(0, len(history) - self.num_steps), len(history)):
                row = self.row(env, number)
                if row is not None:
                    found[number, env] = row
        return found

    def row(self, env: int, number: int) -> dict[str, Any] | None:
        history = self.history[env]
        first = history[number]
        if first.dead:
            return None
        return_, discount = 0.0, 1.0
        for step in history[number : number + self.n_step]:
            if step.dead:
                break
            last = step
            return_ += discount * step.reward
            discount *= self.gamma
            if step.terminated or step.truncated:
                break
        if last.truncated:
            assert last.number_of_final is not None
            if last.number_of_final < self.num_cut[env] - self.num_finals:
                return None
        return {
            "obs": first.obs,
            "actions": first.action,
            "returns": return_,
            "discounts": 0.0 if last.terminated else discount,
            "next_obs": last.next_obs,
            "terminated": last.terminated,
        }
