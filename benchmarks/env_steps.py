"""Raw stepping: operant's CartPole against Gymnasium's own vector environment of it, alternating.

Every step writes observations, rewards and both flags, and begins ended episodes anew; actions are
random and made before. Gymnasium's is `CartPoleVectorEnv`, NumPy over all environments at once and
the fastest that it has. Each side is tried at several numbers of environments and measured at those
given; compilation and the first steps are left out.

    python benchmarks/env_steps.py [--envs 8192 65536] [--rounds 9] [--env cart_pole] [--json FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np
from measuring import machine, summary, versions, write_json

from operant.trainer.envs import ENV_NAMES, load_spec
from operant.trainer.envs.spec import Discrete
from operant.trainer.envs.vector import Transitions, VectorEnv

NUM_ACTIONS = 16  # different ones, used in turn
ROUND_S = 0.5
GYMNASIUM_AT_ITS_BEST = 1024  # where its arrays stay in the first caches

Step = Callable[[int], object]


def operant_step(name: str, num_envs: int) -> Step:
    spec = load_spec(name)
    envs, out = VectorEnv(spec, num_envs, seed=1), Transitions.empty(spec, num_envs)
    random = np.random.default_rng(1)
    if isinstance(spec.actions, Discrete):
        actions = random.integers(spec.actions.n, size=(NUM_ACTIONS, num_envs))
    else:
        size = (NUM_ACTIONS, num_envs, spec.actions.action_size)
        actions = random.uniform(spec.actions.low, spec.actions.high, size).astype(np.float32)
    envs.reset(out.obs)
    return lambda i: envs.step(actions[i % NUM_ACTIONS], out)


def gymnasium_step(num_envs: int) -> Step:
    from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

    envs = CartPoleVectorEnv(num_envs)
    actions = np.random.default_rng(1).integers(2, size=(NUM_ACTIONS, num_envs))
    envs.reset(seed=1)
    return lambda i: envs.step(actions[i % NUM_ACTIONS])


def steps_per_s(step: Step, num_envs: int, num_threads: int) -> float:
    """Over about ROUND_S."""
    numba.set_num_threads(num_threads)
    count, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < ROUND_S:
        for _ in range(NUM_ACTIONS):
            step(count)
            count += 1
    return num_envs * count / elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, nargs="+", default=[8192, 65536])
    parser.add_argument("--rounds", type=int, default=9, help="each measures every side once")
    parser.add_argument("--env", choices=ENV_NAMES, default="cart_pole")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    cores = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]

    sides: dict[str, tuple[Step, int, int]] = {}
    for num_envs in arguments.envs:
        step = operant_step(arguments.env, num_envs)
        for num_threads in sorted({1, cores}):
            name = f"operant, {num_envs:,} envs, {num_threads} threads"
            sides[name] = (step, num_envs, num_threads)
    if arguments.env == "cart_pole":
        for num_envs in [GYMNASIUM_AT_ITS_BEST, *arguments.envs]:
            sides[f"Gymnasium, {num_envs:,} envs"] = (gymnasium_step(num_envs), num_envs, 1)
    for side in sides.values():
        steps_per_s(*side)
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(arguments.rounds):
        for name, side in sides.items():
            speeds[name].append(steps_per_s(*side))

    medians = {name: summary(values) for name, values in speeds.items()}
    theirs = [speed["median"] for name, speed in medians.items() if name.startswith("Gymnasium")]
    for name, speed in medians.items():
        spread = f"({speed['min'] / 1e6:.1f} to {speed['max'] / 1e6:.1f})"
        ratio = f"{speed['median'] / max(theirs):.1f} x Gymnasium's best" if theirs else ""
        print(f"{name:<36} {speed['median'] / 1e6:8.1f} million/s {spread:<18} {ratio}")
    about = {**machine(), **versions("numba", "numpy", "gymnasium")}
    write_json(arguments.json, {"machine": about, "env": arguments.env, "speeds": medians})


if __name__ == "__main__":
    main()
