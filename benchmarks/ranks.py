"""Speed of one process with two threads and of two ranks with one thread each, alternating on the
same two cores, with few and with many env steps per iteration, by the run's last status.

    python benchmarks/ranks.py [--rounds 7] [--iterations 500] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from measuring import busy, machine, versions, write_json

PRESET, ROLLOUT_STEPS = "cart_pole_ppo", 32
ENVS = {"4,096": 128, "65,536": 2048}  # by env steps an iteration
SIDES = {"one process": (), "two ranks": ("--processes", "2")}
NUM_THREADS = {"one process": 2, "two ranks": 1}  # of each process


def env_steps_per_s(side: str, num_envs: int, iterations: int) -> float:
    settings = (
        f"num_envs={num_envs}", f"num_threads={NUM_THREADS[side]}", "evaluation.num_episodes=0",
        f"total_env_steps={ROLLOUT_STEPS * num_envs * iterations}",
    )  # fmt: skip
    command = [sys.executable, "-m", "operant", "train", PRESET, "--device", "cpu", "--json"]
    command += [*SIDES[side], *(word for setting in settings for word in ("--set", setting))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout)["env_steps_per_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="each trains every side once")
    parser.add_argument("--iterations", type=int, default=500, help="of 65,536; sixteenfold others")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"machine": {**machine(), **versions("torch", "numba")}}
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"] = home
        for name, num_envs in ENVS.items():
            iterations = arguments.iterations * max(ENVS.values()) // num_envs
            rates: dict[str, list[float]] = {side: [] for side in SIDES}
            for number in range(arguments.rounds):
                for side in list(SIDES)[:: 1 if number % 2 else -1]:
                    rates[side].append(env_steps_per_s(side, num_envs, iterations))
            ratios = [two / one for one, two in zip(*rates.values(), strict=True)]
            speeds = " and ".join(f"{median(each):,.0f}" for each in rates.values())
            print(f"{name:>6} env steps an iteration: {speeds} env steps/s, ratio "
                  f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})  "
                  f"load {busy():.1f}", flush=True)  # fmt: skip
            found[name] = {"env_steps_per_s": rates, "ratios": ratios}
    write_json(arguments.json, found)


if __name__ == "__main__":
    main()
