"""Learning from images: operant against Stable-Baselines3, alternating, a process each.

PPO and DQN on images of 4 x 84 x 84 bytes, with the network of Mnih et al. 2015, on the processor.
The environment shows images that were drawn before, so that learning is what takes time. The side
`products` runs that network's forwards and backwards alone: no trainer that uses PyTorch's
convolutions in float32 is faster. `operant-bfloat16` has `policy.precision = "bfloat16"`, for which
some processors have instructions. Each side has its fastest number of threads, tried first.

    python benchmarks/images.py [--rounds 5] [--only ppo dqn] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from statistics import median
from typing import Any

from measuring import busy, machine, run_side, summary, versions, write_json

SCRIPT = str(Path(__file__).parent / "peers" / "images.py")
SIDES = ("operant", "operant-bfloat16", "stable-baselines3", "products")
UPDATES = {"ppo": 64, "dqn": 256}
WHOLE, LEARNING = "updates_per_s", "in_learning_per_s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each runs all sides once")
    parser.add_argument("--only", nargs="*", default=list(UPDATES), help="some of ppo, dqn")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    results = {name: measured(name, arguments.rounds) for name in arguments.only}
    about = {**machine(), **versions("torch", "stable-baselines3")}
    write_json(arguments.json, {"machine": about, "runs": results})


def measured(algorithm: str, num_rounds: int) -> dict[str, Any]:
    counts = sorted({1, len(os.sched_getaffinity(0))})
    threads = {
        side: max((run(side, algorithm, count)[LEARNING], count) for count in counts)[1]
        for side in SIDES
    }
    speeds: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    for number in range(num_rounds):
        for side in SIDES if number % 2 else SIDES[::-1]:
            speeds[side].append(run(side, algorithm, threads[side]))
    for kind in (WHOLE, LEARNING):
        ours, brief, theirs, products = ([x[kind] for x in speeds[side]] for side in SIDES)
        sides = "  ".join(f"{side} {spread(x[kind] for x in speeds[side])}" for side in SIDES)
        print(f"{algorithm} {kind}  {sides}", flush=True)
        print(f"  operant is {ratio(ours, theirs):.2f} x stable-baselines3, and "
              f"{ratio(brief, theirs):.2f} x in bfloat16; it reaches {ratio(ours, products):.0%} "
              "of the products", flush=True)  # fmt: skip
    print(f"{algorithm} threads {threads}  load {busy():.1f}", flush=True)
    return {"threads": threads, "speeds": speeds}


def run(side: str, algorithm: str, num_threads: int) -> dict[str, float]:
    return run_side(SCRIPT, side, algorithm, str(UPDATES[algorithm]), str(num_threads))


def ratio(ours: list[float], theirs: list[float]) -> float:
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def spread(speeds: Any) -> str:
    of = summary(list(speeds))
    return f"{of['median']:.1f} ({of['min']:.1f} to {of['max']:.1f})"


if __name__ == "__main__":
    main()
