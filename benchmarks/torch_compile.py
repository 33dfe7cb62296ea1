"""Iterations with `compile = true` and without, alternating: what it takes and what it brings.

    python benchmarks/torch_compile.py [--rounds 9] [--preset NAME] [--set key=value ...]

One core. An iteration is collecting and learning; what compiling takes is told apart.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from measuring import busy

from operant.trainer.config.files import load_config
from operant.trainer.making import processor_experiment
from operant.trainer.run.stopwatch import Stopwatch
from operant.trainer.run.threads import Threads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--preset", default="cart_pole_memory_ppo")
    parser.add_argument("--set", nargs="*", default=[])
    options = parser.parse_args()
    print(f"load {busy():.1f}, torch {torch.__version__}")
    experiments, took = {}, {"off": [], "on": []}
    for name, on in (("off", "false"), ("on", "true")):
        config = load_config(options.preset, ["num_threads=1", f"compile={on}", *options.set])
        experiments[name] = processor_experiment(config, Threads(1))
    start_s = time.perf_counter()
    experiments["on"].compile(lambda: None)
    print(f"compiling {time.perf_counter() - start_s:.1f} s")
    for experiment in experiments.values():
        list(experiment.iterate(Stopwatch(), wait=True))
    for _ in range(options.rounds):
        for name, experiment in experiments.items():
            start_s = time.perf_counter()
            list(experiment.iterate(Stopwatch(), wait=True))
            took[name].append(time.perf_counter() - start_s)
    for name, seconds in took.items():
        steps_per_s = config.rollout_size / statistics.median(seconds)
        print(
            f"{name:4} {1000 * statistics.median(seconds):.1f} ms an iteration "
            f"({1000 * min(seconds):.1f} to {1000 * max(seconds):.1f}), {steps_per_s:,.0f} steps/s"
        )
    ratios = [off / on for off, on in zip(took["off"], took["on"], strict=True)]
    print(f"on is {statistics.median(ratios):.3f} times as fast, median of {len(ratios)} pairs")


if __name__ == "__main__":
    main()
