"""A side of `off_policy.py`: Stable-Baselines3 or sbx with operant's settings."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

WARM_STEPS = 1024
CLASSES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "dqn": ("DQN", "CartPole-v1", {"target_update_interval": 8}),
    "td3": ("TD3", "Pendulum-v1", {}),
    "sac": ("SAC", "Pendulum-v1", {}),
}


class Start(BaseCallback):  # type: ignore[misc]
    """When the first updates begin."""

    start_s = 0.0
    updates_before = 0

    def _on_rollout_start(self) -> None:
        if not self.start_s and self.num_timesteps > WARM_STEPS:
            self.start_s, self.updates_before = time.perf_counter(), self.model._n_updates

    def _on_step(self) -> bool:
        return True


def main(
    library: str, algorithm: str, env: str, hidden: int, batch_size: int, num_updates: int,
    num_threads: int,
) -> None:  # fmt: skip
    """8 environments, 8 steps of each and then as many updates as those were env steps."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:num_threads])  # JAX counts cores
    torch.set_num_threads(num_threads)
    name, default_env, settings = CLASSES[algorithm]
    made = getattr(importlib.import_module(library), name)
    model = made(
        "MlpPolicy",
        make_vec_env(env or default_env, n_envs=8, seed=1),
        learning_rate=1e-3,
        batch_size=batch_size,
        buffer_size=100_000,
        learning_starts=WARM_STEPS,
        train_freq=8,
        gradient_steps=64,
        policy_kwargs={"net_arch": [hidden, hidden]},
        seed=1,
        device="cpu",
        **settings,
    )
    start = Start()
    model.learn(WARM_STEPS + num_updates, callback=start)
    seconds = time.perf_counter() - start.start_s
    done = model._n_updates - start.updates_before
    print(json.dumps({"updates_per_s": done / seconds, "updates": done}))


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
