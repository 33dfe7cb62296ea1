"""One side of `off_policy.py`: operant's DQN, TD3 or SAC, with its page."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from operant.shared import MetricsWriter
from operant.trainer.config import TrainConfig
from operant.trainer.config.from_values import make_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.machine.main_memory import keep_freed_memory
from operant.trainer.running.loop import train

WARM_STEPS = 1024
ENVS = {"dqn": "cart_pole", "td3": "pendulum", "sac": "pendulum"}


def config_of(
    algorithm: str, env: str, hidden: int, batch_size: int, num_updates: int, num_threads: int
) -> TrainConfig:
    """8 environments, 8 steps of each and then as many updates as those were env steps."""
    return make_config(
        {
            "env": env or ENVS[algorithm], "algorithm": algorithm, "num_threads": num_threads,
            "num_envs": 8, "rollout_steps": 8, "total_env_steps": WARM_STEPS + num_updates,
            "policy": {"hidden_sizes": [hidden, hidden], "activation": "relu"},
            "replay": {"capacity": 100_000},
            "evaluation": {"num_episodes": 0}, "checkpoint": {"every_iterations": 0},
            algorithm: {
                "learning_rate": 1e-3, "batch_size": batch_size, "warmup_env_steps": WARM_STEPS,
                **({"target_tau": 1.0, "target_every": 64, "double": False}
                   if algorithm == "dqn" else {}),
            },
        }
    )  # fmt: skip


def main(
    algorithm: str, env: str, hidden: int, batch_size: int, num_updates: int, num_threads: int
) -> None:
    keep_freed_memory()  # as runs do
    config = config_of(algorithm, env, hidden, batch_size, num_updates, num_threads)
    marks: list[tuple[float, float]] = []

    def report(values: Any, iteration: int, steps: int) -> None:
        if values.get("updates/count"):
            marks.append((time.perf_counter(), values["updates/count"]))

    with tempfile.TemporaryDirectory() as folder:
        page = MetricsWriter.create(
            Path(folder) / "page", "bench", metrics_of(config), publish_interval_s=1
        )
        train(config, page, Path(folder) / "checkpoints", report=report)
    (start_s, before), (end_s, after) = marks[0], marks[-1]
    speed = (after - before) / (end_s - start_s)
    print(json.dumps({"updates_per_s": speed, "updates": after - before}))


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
