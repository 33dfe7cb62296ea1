"""One side of `cart_pole.py`: Stable-Baselines3's PPO, its environments one after the other in one
process, as it makes them by default.
"""

from __future__ import annotations

import sys
import time

from results import EPISODES, print_result

START_S = time.perf_counter()
ROLLOUT_SIZE = 4096
NUM_EPOCHS = 4


def main(seed: int, env_steps: int, num_envs: int, num_threads: int) -> None:
    """Operant's networks, rollouts, epochs and minibatches; `num_threads` are PyTorch's."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    torch.set_num_threads(num_threads)
    marks: list[tuple[float, int]] = []

    class Marks(BaseCallback):  # type: ignore[misc]
        """Records the clock and the env steps at the end of every iteration."""

        def _on_rollout_start(self) -> None:
            if self.num_timesteps:
                marks.append((time.perf_counter(), self.num_timesteps))

        def _on_step(self) -> bool:
            return True

        def _on_training_end(self) -> None:
            marks.append((time.perf_counter(), self.num_timesteps))

    networks = {"pi": [64, 64], "vf": [64, 64]}
    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=num_envs, seed=seed),
        n_steps=ROLLOUT_SIZE // num_envs,
        batch_size=ROLLOUT_SIZE // 4,
        n_epochs=NUM_EPOCHS,
        learning_rate=lambda remaining: 2.5e-3 * remaining,
        gamma=0.98,
        gae_lambda=0.95,
        policy_kwargs={"net_arch": networks, "activation_fn": torch.nn.Tanh},
        seed=seed,
        device="cpu",
    )
    model.learn(env_steps, callback=Marks())
    mean = 0.0
    if env_steps > 5 * ROLLOUT_SIZE:  # less only looks for the best settings
        test_envs = make_vec_env("CartPole-v1", n_envs=10, seed=1000 + seed)
        mean, _ = evaluate_policy(model, test_envs, EPISODES, deterministic=True, warn=False)
    print_result(START_S, marks, NUM_EPOCHS, float(mean), "stable-baselines3", "gymnasium", "torch")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
