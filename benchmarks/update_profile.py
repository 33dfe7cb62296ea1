"""Where the time of an off-policy update goes, with one thread.

    python benchmarks/update_profile.py [--only sac td3 dqn] [--hidden 256] [--json FILE]

PyTorch's profiler has the time of each operation, its start included. Drawing minibatches is timed
by itself. What is left of the profiled updates is Python's, and what the profiler itself takes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import torch
from measuring import busy, machine, versions, write_json
from peers.operant_off_policy import WARM_STEPS, config_of

from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.machine.main_memory import keep_freed_memory
from operant.trainer.machine.threads import Threads

BATCHES = {"sac": 256, "td3": 256, "dqn": 64}
GROUPS = {
    "products": ("mm", "addmm", "bmm", "baddbmm", "_linear_pointwise"),
    "Adam": ("_fused_adam_",),
    "target networks": ("lerp_",),
    "copies": ("copy_", "cat", "stack"),
}
ITERATIONS = 8  # of 64 updates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(BATCHES), help="some of sac, td3, dqn")
    parser.add_argument("--hidden", type=int, default=256, help="units a layer")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    keep_freed_memory()  # as runs do
    tables = {}
    for algorithm in arguments.only:
        parts = tables[algorithm] = profiled(algorithm, arguments.hidden)
        whole = sum(parts.values())
        print(
            f"{algorithm}, {arguments.hidden} units: {whole:,.0f} us an update, load {busy():.1f}"
        )
        for name, each in sorted(parts.items(), key=lambda part: -part[1]):
            print(f"  {name:<24}{each:>8,.0f} us {each / whole:>6.1%}", flush=True)
    write_json(arguments.json, {"machine": {**machine(), **versions("torch")}, "us": tables})


def profiled(algorithm: str, hidden: int) -> dict[str, float]:
    """Microseconds of an update, by what they are for."""
    config = config_of(algorithm, hidden, BATCHES[algorithm], 10**6, num_threads=1)
    with closing(processor_experiment(config, Threads(1))) as experiment:
        iterate(experiment, 2 * WARM_STEPS // config.rollout_size)
        num_updates = ITERATIONS * config.rollout_size
        learner: Any = experiment.algorithm
        drawing = timed(
            lambda: [learner.replay.sample(learner.batch, 1.0) for _ in range(num_updates)]
        )
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            whole = timed(lambda: iterate(experiment, ITERATIONS))
    parts = dict.fromkeys(GROUPS, 0.0)
    parts["element-wise and sums"] = 0.0
    for operation in profile.key_averages():
        name = operation.key.rpartition("::")[2]
        group = next((group for group, names in GROUPS.items() if name in names), None)
        parts[group or "element-wise and sums"] += operation.self_cpu_time_total * 1e-6
    parts["drawing a minibatch"] = drawing
    parts["Python and the profiler"] = whole - sum(parts.values())
    return {name: 1e6 * seconds / num_updates for name, seconds in parts.items()}


def iterate(experiment: Experiment, count: int) -> None:
    """Collect and learn; collecting 64 steps takes no time beside 64 updates."""
    for _ in range(count):
        experiment.collect()
        experiment.learn()


def timed(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
