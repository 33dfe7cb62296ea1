"""How long until an algorithm that learns from replay reaches its bar: operant's presets beside
Stable-Baselines3 with the recipes of its RL Zoo, alternating, a process each.

DQN on CartPole until the mean of 100 greedy episodes is 495, SAC and TD3 on Pendulum until it is
-165, asked every 1,024 env steps. Evaluation is the same code for both, and start-up (imports,
compilation, making environments) and evaluations are not in the time. operant has one thread;
Stable-Baselines3 the number of PyTorch's that it is fastest with, tried first.

    python benchmarks/time_to_bar.py [--seeds 1 2 3] [--only dqn sac] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
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
    for algorithm in arguments.only:
        threads = {OPERANT: 1, OTHER: arguments.threads or fastest_threads(algorithm)}
        runs: dict[str, list[dict[str, Any]]] = {OPERANT: [], OTHER: []}
        for number, seed in enumerate(arguments.seeds):
            for script in (OPERANT, OTHER) if number % 2 else (OTHER, OPERANT):
                runs[script].append(run := to_bar(script, algorithm, seed, threads[script]))
                print(f"  {algorithm:<5} {script:<18} seed {seed}  {told(run)}", flush=True)
        ratios = [
            ours["training_s"] / theirs["training_s"]
            for ours, theirs in zip(runs[OPERANT], runs[OTHER], strict=True)
        ]
        results[algorithm] = {"threads": threads, "runs": runs, "ratios": ratios}
        print(f"{algorithm:<5} operant takes {median(ratios):.2f} of its time "
              f"({min(ratios):.2f} to {max(ratios):.2f}), which had {threads[OTHER]} threads",
              flush=True)  # fmt: skip
    about = {**machine(), **versions("torch", "numba", "stable-baselines3", "gymnasium")}
    write_json(arguments.json, {"machine": about, "results": results})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="*", default=list(TRIAL_ENV_STEPS),
                        choices=list(TRIAL_ENV_STEPS))  # fmt: skip
    parser.add_argument("--threads", type=int, help="of Stable-Baselines3, without trying")
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def fastest_threads(algorithm: str) -> int:
    """The number of threads with which Stable-Baselines3 is fastest, of 1 and all cores."""
    tried = sorted({1, len(os.sched_getaffinity(0))})
    steps = TRIAL_ENV_STEPS[algorithm]
    return min(tried, key=lambda n: to_bar(OTHER, algorithm, 0, n, steps)["training_s"])


def to_bar(script: str, algorithm: str, seed: int, threads: int, steps: int = 0) -> dict[str, Any]:
    """One run to the bar, or to `steps`."""
    return run_side(str(PEERS / script), algorithm, *map(str, (seed, threads, steps)))


def told(run: dict[str, Any]) -> str:
    word = "reached" if run["reached"] else "NOT REACHED"
    return (
        f"{word} in {run['training_s']:.1f} s, {run['env_steps']:,} env steps  "
        f"return {run['return']:.1f}, of others {run['return_of_others']:.1f}  "
        f"start-up {run['startup_s']:.1f} s  load {busy():.1f}"
    )


if __name__ == "__main__":
    main()
