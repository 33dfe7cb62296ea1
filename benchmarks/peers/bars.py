"""What both sides of `time_to_bar.py` agree on: the bars, and when they are asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from operant.trainer.config.files import load_config
from operant.trainer.envs import spec_of
from operant.trainer.evaluation import evaluate
from operant.trainer.networks.policy import Policy

PRESETS = {"dqn": "cart_pole_dqn", "sac": "pendulum_sac", "td3": "pendulum_td3"}
BARS = {"dqn": 495.0, "sac": -165.0, "td3": -165.0}
EPISODES = 100
EVALUATE_EVERY = 1024  # env steps


class Course:
    """A run to its bar: greedy episodes of the same environments and seeds for every policy, played
    by the same code; the clock stands still meanwhile.
    """

    def __init__(self, algorithm: str, policy: Policy) -> None:
        """Plays once, which compiles what that needs; the clock has not started yet."""
        self.spec = spec_of(load_config(PRESETS[algorithm]))
        self.policy, self.bar = policy, BARS[algorithm]
        self.training_s, self.returns = 0.0, [self._play(seed=0)]
        self._next_steps = EVALUATE_EVERY
        self._since_s = time.perf_counter()

    def start(self) -> None:
        self._since_s = time.perf_counter()

    def has_arrived(self, env_steps: int, restore: Callable[[], None] = lambda: None) -> bool:
        """Whether the bar is reached, asked at every `EVALUATE_EVERY`th env step; `restore` is
        called before the clock goes on.
        """
        if env_steps < self._next_steps:
            return False
        self.training_s += time.perf_counter() - self._since_s
        self.env_steps = env_steps
        self._next_steps = (env_steps // EVALUATE_EVERY + 1) * EVALUATE_EVERY
        self.returns.append(self._play(seed=env_steps))
        restore()
        self._since_s = time.perf_counter()
        return self.returns[-1] >= self.bar

    def print_result(self, startup_s: float) -> None:
        """One JSON object; `return_of_others` is of 1,000 episodes that nothing was chosen by."""
        result: dict[str, Any] = {
            "reached": self.returns[-1] >= self.bar,
            "training_s": self.training_s,
            "startup_s": startup_s,
            "env_steps": self.env_steps,
            "return": self.returns[-1],
            "return_of_others": self._play(seed=10**9, num_episodes=1000),
        }
        print(json.dumps(result))

    def _play(self, seed: int, num_episodes: int = EPISODES) -> float:
        return float(evaluate(self.policy, self.spec, num_episodes, seed).returns.mean())
