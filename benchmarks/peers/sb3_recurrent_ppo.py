"""One side of `memory.py`: SB3-contrib's RecurrentPPO on CartPole without velocities."""

from __future__ import annotations

import sys
import time
from typing import Any

from results import print_result
from sb3_marks import sb3_marks

START_S = time.perf_counter()
NUM_ENVS, STEPS, NUM_EPOCHS, SIZE = 128, 64, 4, 64


def main(seed: int, env_steps: int, num_threads: int) -> None:
    """The sizes of operant's preset, and one LSTM for actor and critic; `num_threads` are
    PyTorch's.
    """
    import gymnasium
    import torch
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(num_threads)
    marks, callback = sb3_marks()

    class Positions(gymnasium.ObservationWrapper):  # type: ignore[type-arg]
        def __init__(self, env: Any) -> None:
            super().__init__(env)
            low, high = env.observation_space.low[[0, 2]], env.observation_space.high[[0, 2]]
            self.observation_space = gymnasium.spaces.Box(low, high)

        def observation(self, observation: Any) -> Any:
            return observation[[0, 2]]

    model = RecurrentPPO(
        "MlpLstmPolicy",
        make_vec_env("CartPole-v1", n_envs=NUM_ENVS, seed=seed, wrapper_class=Positions),
        n_steps=STEPS,
        batch_size=NUM_ENVS * STEPS // 4,
        n_epochs=NUM_EPOCHS,
        learning_rate=lambda remaining: 2.5e-3 * remaining,
        gamma=0.98,
        gae_lambda=0.95,
        policy_kwargs={
            "net_arch": [SIZE], "activation_fn": torch.nn.Tanh, "lstm_hidden_size": SIZE,
            "shared_lstm": True, "enable_critic_lstm": False,
        },
        seed=seed,
        device="cpu",
    )  # fmt: skip
    model.learn(env_steps, callback=callback)
    print_result(START_S, marks, NUM_EPOCHS, 0.0, "sb3-contrib", "gymnasium", "torch")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
