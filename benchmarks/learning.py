"""Do the presets learn? Each preset of `BARS` with ten seeds, from the command line to the return.

Runs `operant train PRESET --seed S` on one thread and `operant eval` with 1000 greedy episodes (100
of LunarLander, which are slow): the mean of 100 of Pendulum has a standard error of 7, whatever the
policy. Keeps the curve of each run as CSV: env steps, seconds since the start, mean return of the
training episodes, and the return of the greedy evaluations. Prints median, worst and the share of
seeds over the preset's bar; exits with 1 when one misses it. The default seeds, 1001 to 1010, are
for this report alone: presets are tuned with others.

    python benchmarks/learning.py [PRESET ...] [--seeds 1001 ...] [--curves docs/curves] [--jobs 2]
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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from measuring import busy, machine, versions, write_json

from operant.commands.bench.measuring import summary
from operant.shared.rows.curves import Curves
from operant.shared.runs.find_runs import find_run

# Mean return of greedy episodes that every seed must reach.
BARS = {
    "acrobot_dqn": -85.0,
    "acrobot_ppo": -85.0,
    "acrobot_rainbow": -85.0,
    "cart_pole_c51": 495.0,
    "cart_pole_dqn": 495.0,
    "cart_pole_iqn": 495.0,
    "cart_pole_memory_ppo": 495.0,
    "cart_pole_ppo": 495.0,
    "cart_pole_pqn": 495.0,
    "cart_pole_qr_dqn": 495.0,
    "cart_pole_rainbow": 495.0,
    "lunar_lander_continuous_sac": 250.0,
    "lunar_lander_ppo": 200.0,
    "lunar_lander_rainbow": 200.0,
    "mountain_car_continuous_ppo": 90.0,
    "mountain_car_continuous_sac": 93.0,
    "mountain_car_ppo": -115.0,
    "mountain_car_qr_dqn": -115.0,
    "pendulum_ac_iqn": -165.0,
    "pendulum_ddpg": -165.0,
    "pendulum_ppo": -170.0,
    "pendulum_sac": -165.0,
    "pendulum_td3": -165.0,
    "pendulum_tqc": -165.0,
}

EPISODES, LUNAR_LANDER_EPISODES = 1000, 100
CURVE_ROWS = 60


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
    status = operant_json("train", preset, "--seed", str(seed), "--set", "num_threads=1")
    whole_command_s = time.perf_counter() - start
    episodes = LUNAR_LANDER_EPISODES if preset.startswith("lunar_lander") else EPISODES
    answer = operant_json("eval", status["id"], "--episodes", str(episodes))
    write_curve(status["id"], curves / f"{preset}-seed{seed}.csv")
    result = {
        "preset": preset,
        "seed": seed,
        "episodes": episodes,
        "mean_return": answer["mean"],
        "min_return": min(answer["returns"]),
        "env_steps": status["env_steps"],
        "whole_command_s": whole_command_s,
        "busy": busy(),
    }
    print(
        f"{preset:<32} seed {seed}  return {result['mean_return']:>8.2f} "
        f"(bar {BARS[preset]})  {result['env_steps']:>11,} env steps  "
        f"{whole_command_s:.1f} s  load {result['busy']:.1f}",
        flush=True,
    )
    return result


def write_curve(run_id: str, path: Path) -> None:
    """At most about `CURVE_ROWS` rows, and every row with an evaluation."""
    with Curves.of_run(find_run(run_id)) as curves:
        history = curves.history()
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


def verdict(preset: str, runs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Median and worst return of a preset's seeds, and the share of them that reach its bar."""
    returns = [run["mean_return"] for run in runs]
    reached = sum(value >= BARS[preset] for value in returns)
    of = summary(returns)
    return {
        "bar": BARS[preset],
        "median": of["median"],
        "worst": of["min"],
        "best": of["max"],
        "reached": reached,
        "seeds": len(returns),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("presets", nargs="*", default=list(BARS), metavar="PRESET")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(1001, 1011)))
    parser.add_argument("--curves", type=Path, default=Path("docs/curves"))
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, of a thread each")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(arguments.jobs) as pool:
        os.environ["OPERANT_HOME"] = home
        jobs = product(arguments.presets, arguments.seeds)
        results = list(pool.map(lambda job: run_preset(*job, arguments.curves), jobs))
    verdicts = {
        preset: verdict(preset, [run for run in results if run["preset"] == preset])
        for preset in arguments.presets
    }
    for preset, of in verdicts.items():
        print(
            f"{preset:<32} bar {of['bar']:>7.1f}  median {of['median']:>8.2f}  "
            f"worst {of['worst']:>8.2f}  {of['reached']} of {of['seeds']} reach it"
        )
    about = {**machine(), **versions("torch", "numba", "gymnasium")}
    write_json(arguments.json, {"machine": about, "verdicts": verdicts, "runs": results})
    return int(any(of["reached"] < of["seeds"] for of in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
