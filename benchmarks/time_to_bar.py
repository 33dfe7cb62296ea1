"""Training time until an off-policy algorithm reaches its bar: operant's presets beside
Stable-Baselines3 with the recipes of its RL Zoo, in turn, each in a process of its own.

DQN trains on CartPole until the mean of 100 greedy episodes is 495, SAC and TD3 on Pendulum until
it is -165. Both sides are evaluated every 1,024 env steps by the same code. The time excludes
start-up (imports, compilation, making environments) and evaluations. Both sides have two hidden
layers of the same width, one comparison for each of `--widths`. operant has one thread,
Stable-Baselines3 the number of PyTorch threads that it is fastest with, measured first.

    python benchmarks/time_to_bar.py [--seeds 1 2 3] [--only dqn sac] [--widths 64 256]
"""

from __future__ import annotations

import argparse
import os
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from measuring import busy, machine, run_side, versions, write_json

PEERS = Path(__file__).parent / "peers"
OPERANT, OTHER = "operant_to_bar.py", "sb3_to_bar.py"
TRIAL_ENV_STEPS = {"dqn": 5_120, "sac": 1_024, "td3": 11_264}  # with some 1,000 to 2,500 updates


def main() -> None:
    arguments = parsed()
    results: dict[str, Any] = {}
    for algorithm, width in product(arguments.only, arguments.widths):
        networks = f"{algorithm} {width}-{width}"
        threads = {OPERANT: 1, OTHER: arguments.threads or fastest_threads(algorithm, width)}
        runs: dict[str, list[dict[str, Any]]] = {OPERANT: [], OTHER: []}
        for number, seed in enumerate(arguments.seeds):
            for script in (OPERANT, OTHER) if number % 2 else (OTHER, OPERANT):
                runs[script].append(run := to_bar(script, algorithm, width, seed, threads[script]))
                print(f"  {networks:<11} {script:<18} seed {seed}  {summary(run)}", flush=True)
        ratios = [
            ours["training_s"] / theirs["training_s"]
            for ours, theirs in zip(runs[OPERANT], runs[OTHER], strict=True)
        ]
        results[networks] = {"threads": threads, "runs": runs, "ratios": ratios}
        print(f"{networks:<11} operant takes {median(ratios):.2f} of its time "
              f"({min(ratios):.2f} to {max(ratios):.2f}), which had {threads[OTHER]} threads",
              flush=True)  # fmt: skip
    about = {**machine(), **versions("torch", "numba", "stable-baselines3", "gymnasium")}
    write_json(arguments.json, {"machine": about, "results": results})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="*", default=list(TRIAL_ENV_STEPS),
                        choices=list(TRIAL_ENV_STEPS))  # fmt: skip
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 256],
                        help="units of the two hidden layers, on both sides")  # fmt: skip
    parser.add_argument("--threads", type=int, help="of Stable-Baselines3, without measuring")
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def fastest_threads(algorithm: str, width: int) -> int:
    """The number of threads with which Stable-Baselines3 is fastest: 1 or all cores."""
    tried = sorted({1, len(os.sched_getaffinity(0))})
    steps = TRIAL_ENV_STEPS[algorithm]
    return min(tried, key=lambda n: to_bar(OTHER, algorithm, width, 0, n, steps)["training_s"])


def to_bar(
    script: str, algorithm: str, width: int, seed: int, threads: int, steps: int = 0
) -> dict[str, Any]:
    """Train one side to the bar, or for `steps` env steps where that is over 0."""
    return run_side(str(PEERS / script), algorithm, *map(str, (width, seed, threads, steps)))


def summary(run: dict[str, Any]) -> str:
    word = "reached" if run["reached"] else "NOT REACHED"
    return (
        f"{word} in {run['training_s']:.1f} s, {run['env_steps']:,} env steps  "
        f"return {run['return']:.1f}, of others {run['return_of_others']:.1f}  "
        f"start-up {run['startup_s']:.1f} s  load {busy():.1f}"
    )


if __name__ == "__main__":
    main()
