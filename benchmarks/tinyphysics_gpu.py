"""TinyPhysics on a GPU: a rollout of thousands of routes with the policy, and the PPO update.

For the GPU benchmark to call; by hand:

    python benchmarks/tinyphysics_gpu.py --data DIR [--routes 5000] [--engine torch] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import machine, versions, write_json

NUM_ITERATIONS = 3


def measured(data: Path, num_routes: int, engine: str = "torch") -> dict[str, Any]:
    """Seconds of a rollout (400 model calls for each route) and of a whole iteration with 4 epochs
    of PPO, the medians of three after a first that warms up; and how far the mean PID cost in this
    engine is from that of the torch engine, as a fraction.
    """
    from operant.trainer.config.files import load_config
    from operant.trainer.experiment.build import processor_experiment
    from operant.trainer.experiment.experiment import as_numbers
    from operant.trainer.machine.threads import Threads

    os.environ["OPERANT_TINYPHYSICS"] = str(data)
    config = load_config(
        "tinyphysics_ppo",
        [
            f"num_envs={num_routes}", "tinyphysics.rollouts_per_route=1", "cloning.num_epochs=0",
            f"tinyphysics.engine={engine}", "ppo.num_minibatches=20",
            f"total_env_steps={400 * num_routes * 100}",
        ],
    )  # fmt: skip
    experiment = processor_experiment(config, Threads(1))
    rollouts, iterations = [], []
    for _ in range(NUM_ITERATIONS + 1):
        start = synchronised()
        experiment.collect()
        middle = synchronised()
        as_numbers(experiment.learn())
        rollouts.append(middle - start)
        iterations.append(synchronised() - start)
    return {
        "routes": num_routes,
        "rollout_s": float(np.median(rollouts[1:])),
        "iteration_s": float(np.median(iterations[1:])),
        "mean_cost_difference_fraction": cost_difference(data, engine),
    }


def cost_difference(data: Path, engine: str) -> float:
    from operant.trainer.envs.tinyphysics.controllers import Pid
    from operant.trainer.envs.tinyphysics.draws import reference_draws
    from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
    from operant.trainer.envs.tinyphysics.model_file import read_model
    from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
    from operant.trainer.envs.tinyphysics.simulator import simulate

    model, folder = read_model(data / "tinyphysics.onnx"), RouteFolder(data / "data")
    routes = folder.take(range(min(len(folder), 1000)))
    draws = reference_draws(routes.names, routes.rows.shape[1])
    exact, found = (
        float(simulate(runner, routes, Pid(), draws).costs.total.mean())
        for runner in (make_engine(model, "torch"), make_engine(model, engine))
    )
    return abs(found - exact) / exact


def synchronised() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--routes", type=int, default=5000)
    parser.add_argument("--engine", default="torch")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    result = measured(arguments.data, arguments.routes, arguments.engine)
    for name, value in result.items():
        print(f"{name:<32} {value:.6g}")
    write_json(arguments.json, {"machine": {**machine(), **versions("torch")}, "result": result})


if __name__ == "__main__":
    main()
