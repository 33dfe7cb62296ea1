"""One side of `time_to_bar.py`: Stable-Baselines3 with the recipes of its RL Zoo, widths apart."""

from __future__ import annotations

import sys
import time

START_S = time.perf_counter()

from typing import Any  # noqa: E402 (start-up includes imports)

import numpy as np  # noqa: E402
import torch  # noqa: E402
from bars import Course  # noqa: E402
from stable_baselines3 import DQN, SAC, TD3  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402

from operant.trainer.networks.policy import Memoryless  # noqa: E402

# Env steps, environment and arguments of rl-baselines3-zoo's hyperparams/{dqn,sac,td3}.yml.
RECIPES: dict[str, tuple[Any, str, int, dict[str, Any]]] = {
    "dqn": (DQN, "CartPole-v1", 50_000, {
        "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "gamma": 0.99,
        "learning_starts": 1000, "target_update_interval": 10, "train_freq": 256,
        "gradient_steps": 128, "exploration_fraction": 0.16, "exploration_final_eps": 0.04,
    }),
    "sac": (SAC, "Pendulum-v1", 20_000, {"learning_rate": 1e-3}),
    "td3": (TD3, "Pendulum-v1", 20_000, {
        "learning_rate": 1e-3, "gamma": 0.98, "buffer_size": 200_000, "learning_starts": 10_000,
        "train_freq": 1, "gradient_steps": 1,
        "action_noise": NormalActionNoise(np.zeros(1), 0.1 * np.ones(1)),
    }),
}  # fmt: skip


class Greedy(Memoryless):
    """What operant's evaluation asks of a policy."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def greedy(self, obs: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self.model.predict(obs.numpy(), deterministic=True)[0])


class UntilTheBar(BaseCallback):  # type: ignore[misc]
    def __init__(self, course: Course, num_threads: int, most_env_steps: int) -> None:
        super().__init__()
        self.course, self.most_env_steps = course, most_env_steps
        self.restore = lambda: torch.set_num_threads(num_threads)

    def _on_step(self) -> bool:
        if self.course.has_arrived(self.num_timesteps, self.restore):
            return False
        return self.num_timesteps < (self.most_env_steps or sys.maxsize)


def main(algorithm: str, width: int, seed: int, num_threads: int, most_env_steps: int) -> None:
    """Train to the bar, or for `most_env_steps` (0: the recipe's budget)."""
    make, env, env_steps, arguments = RECIPES[algorithm]
    model = make("MlpPolicy", make_vec_env(env, seed=seed), seed=seed, device="cpu",
                 policy_kwargs={"net_arch": [width, width]}, **arguments)  # fmt: skip
    course = Course(algorithm, Greedy(model))  # type: ignore[arg-type]
    callback = UntilTheBar(course, num_threads, most_env_steps)
    callback.restore()
    startup_s = time.perf_counter() - START_S
    course.start()
    model.learn(env_steps, callback=callback)
    course.print_result(startup_s)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
