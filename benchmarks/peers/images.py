"""One side of `images.py`: operant, with bfloat16 or not, Stable-Baselines3, or the products alone.

python benchmarks/peers/images.py SIDE ALGORITHM UPDATES THREADS
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import nn

SHAPE = (4, 84, 84)
NUM_ACTIONS = 6
NUM_ENVS = 8
BATCHES = {"ppo": 256, "dqn": 32}
ROLLOUT_STEPS, NUM_EPOCHS = 128, 4  # of PPO
WARM_STEPS = 1024  # of DQN
UPDATES_AN_ITERATION = {"ppo": ROLLOUT_STEPS * NUM_ENVS // BATCHES["ppo"] * NUM_EPOCHS, "dqn": 16}


class Images(gymnasium.Env):  # type: ignore[type-arg]
    """Random images drawn in advance, so that the environment takes nearly no time."""

    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(NUM_ACTIONS)
    images = np.random.default_rng(0).integers(0, 256, (64, *SHAPE), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.step_count = 0
        return self.images[0], {}

    def step(self, action: Any) -> Any:
        self.step_count += 1
        obs = self.images[self.step_count % len(self.images)]
        return obs, float(action == 0), False, self.step_count == 500, {}


def main(side: str, algorithm: str, num_updates: int, num_threads: int) -> None:
    sides = {
        "operant": operant_side, "operant-bfloat16": partial(operant_side, precision="bfloat16"),
        "stable-baselines3": sb3_side, "products": products_side,
    }  # fmt: skip
    iterations = -(-num_updates // UPDATES_AN_ITERATION[algorithm]) + 1  # the first one warms up
    marks = sides[side](algorithm, iterations, num_threads)
    (start_s, _, before), (end_s, _, after) = marks[0], marks[-1]
    learning_s = median(seconds for _, seconds, _ in marks[1:])
    speeds = {
        "updates_per_s": (after - before) / (end_s - start_s),
        "in_learning_per_s": UPDATES_AN_ITERATION[algorithm] / learning_s,
    }
    print(json.dumps({"updates": after - before, **speeds}))


Marks = list[tuple[float, float, float]]  # clock, seconds an iteration learned, updates so far


def operant_side(
    algorithm: str, iterations: int, num_threads: int, precision: str = "float32"
) -> Marks:
    from operant.shared import MetricsWriter
    from operant.trainer.config.from_values import make_config
    from operant.trainer.config.metrics import metrics_of
    from operant.trainer.machine.main_memory import keep_freed_memory
    from operant.trainer.running.loop import train

    keep_freed_memory()  # as runs do

    rollout_steps = ROLLOUT_STEPS if algorithm == "ppo" else 8
    warm_steps = 0 if algorithm == "ppo" else WARM_STEPS
    sections: dict[str, Any] = {
        "ppo": {"learning_rate": 2.5e-4, "num_epochs": NUM_EPOCHS, "num_minibatches": 4},
        "dqn": {
            "learning_rate": 1e-4, "batch_size": BATCHES["dqn"], "warmup_env_steps": WARM_STEPS,
            "updates_per_env_step": 0.25, "target_tau": 1.0, "target_every": 250, "double": False,
        },
    }  # fmt: skip
    config = make_config(
        {
            "env": f"gymnasium:{Path(__file__).stem}:Images", "algorithm": algorithm,
            "num_threads": num_threads, "num_envs": NUM_ENVS, "rollout_steps": rollout_steps,
            "total_env_steps": warm_steps + iterations * rollout_steps * NUM_ENVS,
            "policy": {"encoder": "nature", "hidden_sizes": [], "precision": precision},
            **({"replay": {"capacity": 10_000}} if algorithm == "dqn" else {}),
            "evaluation": {"num_episodes": 0}, "checkpoint": {"every_iterations": 0},
            algorithm: sections[algorithm],
        }
    )  # fmt: skip
    marks: Marks = []

    def report(values: Any, iteration: int, steps: int) -> None:
        if "optimizer/learning_rate" in values:
            iterations_done = (steps - warm_steps) / NUM_ENVS / rollout_steps
            updates = iterations_done * UPDATES_AN_ITERATION[algorithm]
            marks.append((time.perf_counter(), values["time/learn_s"], updates))

    with tempfile.TemporaryDirectory() as folder:
        metrics = metrics_of(config)
        page = MetricsWriter.create(Path(folder) / "page", "bench", metrics, publish_interval_s=1)
        train(config, page, Path(folder) / "checkpoints", report=report)
    return marks


def sb3_side(algorithm: str, iterations: int, num_threads: int) -> Marks:
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(num_threads)
    envs, batch_size = make_vec_env(Images, n_envs=NUM_ENVS, seed=1), BATCHES[algorithm]
    model: Any
    if algorithm == "ppo":
        steps = iterations * ROLLOUT_STEPS * NUM_ENVS
        model = PPO(
            "CnnPolicy", envs, n_steps=ROLLOUT_STEPS, batch_size=batch_size, n_epochs=NUM_EPOCHS,
            learning_rate=2.5e-4, seed=1, device="cpu",
        )  # fmt: skip
    else:
        steps = WARM_STEPS + iterations * 64
        model = DQN(
            "CnnPolicy", envs, batch_size=batch_size, buffer_size=10_000, learning_rate=1e-4,
            learning_starts=WARM_STEPS, train_freq=8, gradient_steps=16,
            target_update_interval=1000, seed=1, device="cpu",
        )  # fmt: skip
    return _marks_of(model, lambda: model.learn(steps), UPDATES_AN_ITERATION[algorithm])


def _marks_of(model: Any, run: Callable[[], Any], updates_each: int) -> Marks:
    """Times each call of `model.train`."""
    marks: Marks = []
    train = model.train

    def timed(*arguments: Any, **named: Any) -> None:
        start_s = time.perf_counter()
        train(*arguments, **named)
        end_s = time.perf_counter()
        marks.append((end_s, end_s - start_s, updates_each * (len(marks) + 1)))

    model.train = timed
    run()
    return marks


def products_side(algorithm: str, iterations: int, num_threads: int) -> Marks:
    """Forwards and backwards through the network alone: with DQN's forward of its target network,
    without losses, samples and optimizer.
    """
    torch.set_num_threads(num_threads)
    network = nn.Sequential(
        nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
        nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
        nn.Linear(512, NUM_ACTIONS + (algorithm == "ppo")),
    )  # fmt: skip
    x = torch.rand(BATCHES[algorithm], *SHAPE).contiguous(memory_format=torch.channels_last)
    marks: Marks = []
    for number in range(iterations):
        start_s = time.perf_counter()
        for _ in range(UPDATES_AN_ITERATION[algorithm]):
            if algorithm == "dqn":
                with torch.no_grad():
                    network(x)
            for parameter in network.parameters():
                parameter.grad = None
            network(x).sum().backward()
        end_s = time.perf_counter()
        marks.append((end_s, end_s - start_s, UPDATES_AN_ITERATION[algorithm] * (number + 1)))
    return marks


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
