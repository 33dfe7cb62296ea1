"""Steps of MuJoCo environments, without a policy: Gymnasium one by one, operant on all cores (Ant
in workers) and, where it is installed, EnvPool with a thread for each core, in turns.

    python benchmarks/mujoco_stepping.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from measuring import busy, machine, summary, versions, write_json

from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import describe, make_envs
from operant.trainer.envs.vector import Transitions
from operant.trainer.jit.streams import TRAINING

ENVS = ("HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5")
CORES = len(os.sched_getaffinity(0))
MIN_S = 1.0
NUM_ENVS = 64

Step = Callable[[np.ndarray[Any, Any]], object]


def gymnasiums(env_id: str) -> Step:
    envs = [gymnasium.make(env_id) for _ in range(NUM_ENVS)]
    for env in envs:
        env.reset()

    def step(actions: np.ndarray[Any, Any]) -> None:
        for env, action in zip(envs, actions, strict=True):
            *_, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return step


def operants(env_id: str) -> Step:
    workers = {"workers": {"num_workers": CORES}} if env_id == "Ant-v5" else {}
    values = {"env": f"gymnasium:{env_id}", "num_envs": NUM_ENVS, "num_threads": CORES, **workers}
    spec = describe(make_config(values))
    envs = make_envs(spec, NUM_ENVS, 1, TRAINING)
    envs.reset(np.zeros((NUM_ENVS, spec.obs_size), np.float32))
    out = Transitions.of(spec, NUM_ENVS)
    return lambda actions: envs.step(actions, out)


def envpools(env_id: str) -> Step:
    import envpool

    envs = envpool.make_gymnasium(env_id, num_envs=NUM_ENVS, num_threads=CORES)
    envs.reset()
    return lambda actions: envs.step(actions.astype(np.float64))


def steps_per_s(step: Step, actions: list[np.ndarray[Any, Any]]) -> float:
    start_s, number = time.perf_counter(), 0
    while time.perf_counter() - start_s < MIN_S:
        step(actions[number % len(actions)])
        number += 1
    return number * len(actions[0]) / (time.perf_counter() - start_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each measures every side once")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    makers = {"Gymnasium": gymnasiums, "operant": operants}
    if importlib.util.find_spec("envpool"):
        makers["EnvPool"] = envpools
    results = {}
    for env_id in ENVS:
        space = gymnasium.make(env_id).action_space
        draws = np.random.default_rng(1).uniform(-1, 1, (64, NUM_ENVS, *space.shape))
        actions = list((draws * space.high).astype(np.float32))
        sides = {name: make(env_id) for name, make in makers.items()}
        speeds: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(arguments.rounds):
            for name in list(sides)[:: 1 if number % 2 else -1]:
                speeds[name].append(steps_per_s(sides[name], actions))
        first = speeds["Gymnasium"]
        texts = (
            f"{name} {summary(each)['median']:,.0f}/s, "
            f"{median(a / b for a, b in zip(each, first, strict=True)):.2f} x"
            for name, each in speeds.items()
        )
        print(f"{env_id:<15} {'; '.join(texts)}; load {busy():.1f}", flush=True)
        results[env_id] = speeds
    about = {**machine(), **versions("gymnasium", "mujoco", "mjbatch", "envpool")}
    write_json(arguments.json, {"machine": about, "steps_per_s": results})


if __name__ == "__main__":
    main()
