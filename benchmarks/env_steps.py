"""Raw stepping: operant's CartPole against Gymnasium's and EnvPool's, alternating.

Every step writes observations, rewards and both flags, and begins ended episodes anew; actions are
random and made before. Each side is tried at several numbers of environments and measured at those
given; compilation and the first steps are left out.

- Gymnasium's is `CartPoleVectorEnv`, NumPy over all environments at once and the fastest it has.
- EnvPool's are C++ environments under a pool of threads, in step and asynchronously, in a process
  of a Python that has it: `--envpool-python PYTHON`, or the variable OPERANT_BENCH_ENVPOOL.

    python benchmarks/env_steps.py [--envs 8192 65536] [--rounds 9] [--env cart_pole] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
from measuring import busy, machine, summary, versions, write_json

from operant.trainer.envs import ENV_NAMES, load_spec
from operant.trainer.envs.spec import Discrete
from operant.trainer.envs.vector import Transitions, VectorEnv

NUM_ACTIONS = 16  # different ones, used in turn
ROUND_S = 0.5
GYMNASIUM_AT_ITS_BEST = 1024  # where its arrays stay in the first caches
ENVPOOL_SIZES = (64, 256, 1024, 8192)
ENVPOOL_SCRIPT = Path(__file__).parent / "peers" / "envpool_steps.py"

Step = Callable[[int], object]
Measure = Callable[[], float]  # env steps per second, over about ROUND_S


def main() -> None:
    arguments = parsed()
    cores: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    pools: list[EnvPool] = []
    sides: dict[str, Measure] = {}
    for num_envs in arguments.envs:
        step = operant_step(arguments.env, num_envs)
        for threads in sorted({1, cores}):
            sides[f"operant, {num_envs:,} envs, {threads} threads"] = timed(step, num_envs, threads)
    if arguments.env == "cart_pole":
        for num_envs in [GYMNASIUM_AT_ITS_BEST, *arguments.envs]:
            name = f"Gymnasium, {num_envs:,} envs"
            sides[name] = timed(gymnasium_step(num_envs), num_envs, 1)
        pools = envpools(arguments.envpool_python, cores)
        sides |= {pool.name: pool.measure for pool in pools}
    speeds = alternated(sides, arguments.rounds)
    table(speeds)
    about = {**machine(), **versions("numba", "numpy", "gymnasium"), "busy": busy()}
    about["envpool"] = pools[0].version if pools else None
    write_json(arguments.json, {"machine": about, "env": arguments.env, "speeds": speeds})
    for pool in pools:
        pool.close()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, nargs="+", default=[8192, 65536])
    parser.add_argument("--rounds", type=int, default=9, help="each measures every side once")
    parser.add_argument("--env", choices=ENV_NAMES, default="cart_pole")
    parser.add_argument("--envpool-python", default=os.environ.get("OPERANT_BENCH_ENVPOOL"))
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def operant_step(name: str, num_envs: int) -> Step:
    spec = load_spec(name)
    envs, out = VectorEnv(spec, num_envs, seed=1), Transitions.empty(spec.obs_size, num_envs)
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


def timed(step: Step, num_envs: int, num_threads: int) -> Measure:
    def measure() -> float:
        numba.set_num_threads(num_threads)
        count, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < ROUND_S:
            for _ in range(NUM_ACTIONS):
                step(count)
                count += 1
        return num_envs * count / elapsed

    return measure


class EnvPool:
    """A process that steps EnvPool's environments while it is asked to."""

    def __init__(self, python: str, num_envs: int, num_threads: int, batch_size: int) -> None:
        kind = "in step" if batch_size == num_envs else f"batches of {batch_size:,}"
        self.name = f"EnvPool, {num_envs:,} envs, {num_threads} threads, {kind}"
        numbers = map(str, (num_envs, num_threads, batch_size))
        self._process = subprocess.Popen(
            [python, str(ENVPOOL_SCRIPT), *numbers],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdin
        assert self._process.stdout
        self._asked, self._answers = self._process.stdin, self._process.stdout
        self.version = self._answers.readline().strip()

    def measure(self) -> float:
        print(ROUND_S, file=self._asked, flush=True)
        return float(self._answers.readline())

    def close(self) -> None:
        self._asked.close()
        self._process.wait()


def envpools(python: str | None, cores: int) -> list[EnvPool]:
    """At every size, with one thread and as many as there are cores, and asynchronously."""
    if not python:
        print("EnvPool: skipped, --envpool-python and OPERANT_BENCH_ENVPOOL name no Python")
        return []
    kinds = [
        (num_envs, threads, batch_size)
        for num_envs in ENVPOOL_SIZES
        for threads in sorted({1, cores})
        for batch_size in (num_envs, num_envs // 2)
    ]
    return [EnvPool(python, *kind) for kind in kinds]


def alternated(sides: dict[str, Measure], rounds: int) -> dict[str, dict[str, float]]:
    """Median and spread of each; the first look of all, which warms up, is thrown away."""
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, measure in sides.items():
            speeds[name].append(measure())
    return {name: summary(values[1:]) for name, values in speeds.items()}


def rounded(number: float) -> str:
    """With one decimal, and small ones with two digits that say something."""
    return f"{number:.1f}" if number >= 1 else f"{number:#.2g}"


def table(speeds: dict[str, dict[str, float]]) -> None:
    """Speeds, and each as a multiple of the fastest of those who are not operant."""
    theirs = [speed["median"] for name, speed in speeds.items() if "operant" not in name]
    for name, speed in speeds.items():
        median, low, high = (rounded(speed[of] / 1e6) for of in ("median", "min", "max"))
        ratio = f"{rounded(speed['median'] / max(theirs))} x the others' best" if theirs else ""
        print(f"{name:<52} {median:>8} million/s {f'({low} to {high})':<18} {ratio}")
    print(f"load {busy():.1f}")


if __name__ == "__main__":
    main()
