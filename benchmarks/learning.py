"""Do the presets learn? Every preset with several seeds, from the command line to the return.

Runs `operant train PRESET --seed S` and `operant eval` with 100 greedy episodes, and keeps the
curve of each run as CSV: env steps, seconds since the start, mean return of the training episodes,
and the return of the greedy evaluations. Exits with 1 when a seed misses its preset's bar.

    python benchmarks/learning.py [PRESET ...] [--seeds 1 2 3] [--curves docs/curves]
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import machine, versions, write_json

from operant.shared.run_folder import find_run
from operant.shared.status import open_page

# Mean of 100 greedy episodes that every seed must reach.
BARS = {
    "acrobot_ppo": -85.0,
    "cart_pole_ppo": 495.0,
    "lunar_lander_ppo": 200.0,
    "mountain_car_ppo": -115.0,
    "mountain_car_continuous_ppo": 90.0,
    "pendulum_ppo": -170.0,
}

CURVE_ROWS = 400


def operant_json(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "operant", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def run_preset(preset: str, seed: int, curves: Path) -> dict[str, Any]:
    """Train and evaluate one seed; writes its curve."""
    start = time.perf_counter()
    status = operant_json("train", preset, "--seed", str(seed))
    whole_command_s = time.perf_counter() - start
    answer = operant_json("eval", status["run"], "--episodes", "100")
    write_curve(status["run"], curves / f"{preset}-seed{seed}.csv")
    return {
        "seed": seed,
        "mean_return": answer["mean_return"],
        "min_return": answer["min_return"],
        "env_steps": status["env_steps"],
        "whole_command_s": whole_command_s,
    }


def write_curve(run_id: str, path: Path) -> None:
    """At most about `CURVE_ROWS` rows, and every row with an evaluation."""
    history = open_page(find_run(run_id)).history()
    returns = history.series("episode/return").mean
    evaluations = history.series("evaluation/return").mean
    every = max(1, len(history) // CURVE_ROWS)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["env_steps", "elapsed_s", "episode_return", "evaluation_return"])
        for row in range(len(history)):
            if row % every == 0 or not math.isnan(evaluations[row]) or row == len(history) - 1:
                values = (returns[row], evaluations[row])
                texts = ("" if math.isnan(value) else f"{value:.2f}" for value in values)
                steps, elapsed_s = history.env_steps[row], history.elapsed_s[row]
                writer.writerow([steps, f"{elapsed_s:.3f}", *texts])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", default=list(BARS), metavar="PRESET")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--curves", type=Path, default=Path("docs/curves"))
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"] = home
        for preset in arguments.presets:
            for seed in arguments.seeds:
                result = run_preset(preset, seed, arguments.curves)
                results.setdefault(preset, []).append(result)
                print(
                    f"{preset:<32} seed {seed}  return {result['mean_return']:>8.2f} "
                    f"(bar {BARS[preset]})  {result['env_steps']:>11,} env steps  "
                    f"{result['whole_command_s']:.1f} s",
                    flush=True,
                )
    about = {**machine(), **versions("torch", "numba")}
    write_json(arguments.json, {"machine": about, "bars": BARS, "presets": results})
    missed = [p for p, runs in results.items() if min(r["mean_return"] for r in runs) < BARS[p]]
    print(f"missed: {', '.join(missed)}" if missed else "all bars reached")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
