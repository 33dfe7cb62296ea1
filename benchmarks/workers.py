"""Environments in workers against environments stepped one after the other.

python benchmarks/workers.py [--rounds 7] [--json FILE]

Rollouts of eight environments with a policy of 64-64, a side each: serial, two workers, two workers
in two groups. Sides alternate. A slow environment takes 2 ms a step, once sleeping and once
computing, a fast one 10 us. Then what `workers.num_workers = auto` chooses of each, and what
waiting workers cost.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from statistics import median
from typing import Any

import psutil
from measuring import busy, machine, run_side, versions, write_json

ENV = "env=gymnasium:timed_env:make"
SIDES = {
    "serial": ("workers.num_workers=0",),
    "2 workers": ("workers.num_workers=2", "workers.async_factor=1"),
    "2 workers, 2 groups": ("workers.num_workers=2", "workers.async_factor=2"),
}
NUM_ENVS = 8
STEPS = {"sleeps": 32, "computes": 32, "fast": 512}
IDLE_S = 10.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("--kind", choices=STEPS)
    arguments = parser.parse_args()
    if arguments.kind:
        print(json.dumps(measure(arguments.kind, arguments.rounds)))
        return
    result: dict[str, Any] = {"machine": machine(), "versions": versions("torch", "gymnasium")}
    loops = calibrated_loops()
    for kind in STEPS:
        slow_us, fast_us = 2000, 10
        settings = {
            "sleeps": {"TIMED_ENV_SLEEP_US": str(slow_us)},
            "computes": {"TIMED_ENV_LOOPS": str(int(loops * slow_us))},
            "fast": {"TIMED_ENV_LOOPS": str(int(loops * fast_us))},
        }[kind]
        os.environ |= settings
        result[kind] = run_side(__file__, "--kind", kind, "--rounds", str(arguments.rounds))
        for name in settings:
            del os.environ[name]
        print(kind, json.dumps(result[kind], indent=2), flush=True)
    write_json(arguments.json, result)


def calibrated_loops() -> float:
    """Rounds of arithmetic in a microsecond."""
    from timed_env import compute

    times = []
    for _ in range(20):
        start = time.perf_counter()
        compute(20_000)
        times.append(time.perf_counter() - start)
    return 20_000 / (min(times) * 1e6)


def measure(kind: str, rounds: int) -> dict[str, Any]:
    from operant.trainer.config.files import make_config
    from operant.trainer.envs import env_spec_of
    from operant.trainer.making import make_policy, processor_experiment
    from operant.trainer.run.threads import Threads
    from operant.trainer.workers_choice import with_workers

    common = (ENV, f"num_envs={NUM_ENVS}", f"rollout_steps={STEPS[kind]}", "num_threads=1")
    threads = Threads(1)
    sides = {}
    for name, overrides in SIDES.items():
        config = make_config({}, (*common, *overrides))
        sides[name] = processor_experiment(config, threads)
        sides[name].collect()
    per_s: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, experiment in sides.items():
            start = time.perf_counter()
            experiment.collect()
            per_s[name].append(NUM_ENVS * STEPS[kind] / (time.perf_counter() - start))
    workers = psutil.Process().children()
    used_s = sum(map(cpu_s, workers))
    time.sleep(IDLE_S)
    waiting = (sum(map(cpu_s, workers)) - used_s) / IDLE_S / len(workers)
    for experiment in sides.values():
        experiment.close()
    config = make_config({}, (*common, "workers.num_workers=auto"))
    _, (notice,) = with_workers(config, env_spec_of(config), make_policy(config))
    threads.close()
    return {
        "env_steps_per_s": {
            name: [round(median(each)), round(min(each)), round(max(each))]
            for name, each in per_s.items()
        },
        "times_serial": {
            name: [
                round(f(a / b for a, b in zip(each, per_s["serial"], strict=True)), 2)
                for f in (median, min, max)
            ]
            for name, each in per_s.items()
        },
        "waiting_core_fraction": round(waiting, 5),
        "auto": notice,
        "load": busy(),
    }


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


if __name__ == "__main__":
    main()
