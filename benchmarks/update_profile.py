"""Where the time of an off-policy update goes, with one thread, and which part of its speed limit
it reaches: the time of its matrix products alone.

    python benchmarks/update_profile.py [--only sac td3 dqn] [--hidden 256] [--json FILE]

PyTorch's profiler has the time of each operation, its start included. Drawing minibatches is timed
by itself. What is left of the profiled updates is Python's, and what the profiler itself takes. For
the limit, updates without the profiler and their products, shape by shape, are timed in turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any

import torch
from measuring import busy, machine, summary, versions, write_json
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
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(BATCHES), help="some of sac, td3, dqn")
    parser.add_argument("--hidden", type=int, default=256, help="units a layer")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    keep_freed_memory()  # as runs do
    tables: dict[str, Any] = {}
    for algorithm in arguments.only:
        parts, limits = profiled(algorithm, arguments.hidden)
        tables[algorithm] = {"us": parts, "of_the_limit": limits}
        whole = sum(parts.values())
        print(
            f"{algorithm}, {arguments.hidden} units: {whole:,.0f} us an update, load {busy():.1f}"
        )
        for name, each in sorted(parts.items(), key=lambda part: -part[1]):
            print(f"  {name:<24}{each:>8,.0f} us {each / whole:>6.1%}", flush=True)
        print("  without the profiler, {median:.0%} of the limit ({min:.0%} to {max:.0%})".format(
            **summary(limits)))  # fmt: skip
    write_json(arguments.json, {"machine": {**machine(), **versions("torch")}, "runs": tables})


def profiled(algorithm: str, hidden: int) -> tuple[dict[str, float], list[float]]:
    """Microseconds of an update, by what they are for; the products' part of each round's time."""
    config = config_of(algorithm, "", hidden, BATCHES[algorithm], 10**6, num_threads=1)
    with closing(processor_experiment(config, Threads(1))) as experiment:
        iterate(experiment, 2 * WARM_STEPS // config.rollout_size)
        num_updates = ITERATIONS * config.rollout_size
        learner: Any = experiment.algorithm
        drawing = timed(
            lambda: [learner.replay.sample(learner.batch, 1.0) for _ in range(num_updates)]
        )
        activities = [torch.profiler.ProfilerActivity.CPU]
        with torch.profiler.profile(activities=activities, record_shapes=True) as profile:
            whole = timed(lambda: iterate(experiment, ITERATIONS))
        products = products_of(profile)
        limits = []
        for _ in range(ROUNDS):
            alone = timed(lambda: [product() for product, count in products for _ in range(count)])
            limits.append(alone / timed(lambda: iterate(experiment, ITERATIONS)))
    parts = dict.fromkeys(GROUPS, 0.0)
    parts["element-wise and sums"] = 0.0
    for operation in profile.key_averages():
        name = operation.key.rpartition("::")[2]
        group = next((group for group, names in GROUPS.items() if name in names), None)
        parts[group or "element-wise and sums"] += operation.self_cpu_time_total * 1e-6
    parts["drawing a minibatch"] = drawing
    parts["Python and the profiler"] = whole - sum(parts.values())
    return {name: 1e6 * seconds / num_updates for name, seconds in parts.items()}, limits


def products_of(profile: torch.profiler.profile) -> list[tuple[Callable[[], Any], int]]:
    """Each product with inputs of its own, and how often it was computed."""
    products: list[tuple[Callable[[], Any], int]] = []
    for event in profile.key_averages(group_by_input_shape=True):
        namespace, _, name = event.key.rpartition("::")
        if name not in GROUPS["products"]:
            continue
        shapes = event.input_shapes[: 2 if name in ("mm", "bmm") else 3]
        inputs: list[Any] = [torch.randn(shape) if shape else None for shape in shapes]
        if name == "_linear_pointwise":
            inputs += ["none", [], ""]
        operation: Any = getattr(getattr(torch.ops, namespace), name)
        products.append((partial(operation, *inputs), event.count))
    return products


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
