"""Speed of MarineNav: operant's seas beside the same world as a batch in NumPy, alternating.

Seas of 5 robots and 4 obstacles, errors of what is seen, observations, rewards, flags and next
episodes included, in float32; random actions, made before. What counts is a decision of a robot
that is at sea: those that have retired and wait for the others do not. The seas are stepped until
their episodes are of all ages before anything is measured. Besides the clock's seconds, those of
the processor are counted: where others want the cores as well, they tell what the work costs.

    python benchmarks/marine_nav.py [--envs 1024 8192] [--numpy-envs 512] [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numba
import numpy as np
from measuring import busy, machine, summary, versions, write_json
from peers.marine_nav_numpy import NumpySeas, Scenarios

from operant.trainer.bench.sides import random_actions
from operant.trainer.envs import load_spec
from operant.trainer.envs.marine_nav.layout import (
    GOAL_X,
    GOAL_Y,
    HEADING,
    OBSTACLE_SIZE,
    ROBOT_SIZE,
    X,
    Y,
)
from operant.trainer.envs.marine_nav.making import make_spec
from operant.trainer.envs.vector import Transitions, VectorEnv

ROBOTS, OBSTACLES = 5, 4
NUM_ACTIONS = 32  # different ones, used in turn
ROUND_S = 1.0
AGES = 700  # decisions before the first measurement

Step = Callable[[int], int]  # decisions of robots at sea


def main() -> None:
    arguments = parsed()
    sides: dict[str, Callable[[], tuple[float, float]]] = {}
    cores: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    for num_envs in arguments.envs:
        step = operant_step(num_envs)
        for threads in sorted({1, cores}):
            sides[f"operant, {num_envs:,} seas, {threads} threads"] = timed(step, threads)
    for num_envs in arguments.numpy_envs:
        sides[f"NumPy, {num_envs:,} seas, 1 thread"] = timed(numpy_step(num_envs), 1)
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(arguments.rounds):
        for name, measure in sides.items():
            speeds[name].append(measure())
    for name, values in speeds.items():
        by_clock, by_processor = (summary(list(x)) for x in zip(*values, strict=True))
        print(f"{name:36} {told(by_clock)} robot-decisions/s, {told(by_processor)} a core's second")
    about = {**machine(), **versions("numba", "numpy"), "busy": busy()}
    print(about)
    write_json(arguments.json, {"machine": about, "speeds": speeds})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", type=int, nargs="+", default=[1024, 8192])
    parser.add_argument("--numpy-envs", type=int, nargs="+", default=[512])
    parser.add_argument("--rounds", type=int, default=5, help="each measures every side once")
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def operant_step(num_envs: int) -> Step:
    spec = load_spec("marine_nav")
    envs = VectorEnv(spec, num_envs, seed=1)
    out = Transitions.empty(spec.obs_size, envs.num_rows)
    actions = random_actions(spec, NUM_ACTIONS, envs.num_rows)
    envs.reset(out.obs)

    def step(i: int) -> int:
        envs.step(actions[i % NUM_ACTIONS], out)
        return int(np.count_nonzero(out.valid))

    return aged(step)


def numpy_step(num_envs: int) -> Step:
    seas = NumpySeas(num_envs, scenarios(256), 1, np.float32, noise=True)
    drawn = random_actions(load_spec("marine_nav"), NUM_ACTIONS, num_envs * ROBOTS)
    actions = drawn.reshape(NUM_ACTIONS, num_envs, ROBOTS, 2)

    def step(i: int) -> int:
        _, _, _, valid = seas.step(actions[i % NUM_ACTIONS])
        return int(np.count_nonzero(valid))

    return aged(step)


def aged(step: Step) -> Step:
    for i in range(AGES):
        step(i)
    return step


def scenarios(count: int) -> Scenarios:
    """As many as operant's generator makes."""
    spec = make_spec()
    envs = VectorEnv(spec, count, seed=2)
    envs.reset(np.zeros((envs.num_rows, spec.obs_size), np.float32))
    fields, first = envs.state.fields.T, spec.world.first_rows
    robots = fields[:, first["first_robot"] :][:, : ROBOTS * ROBOT_SIZE]
    robots = robots.reshape(count, ROBOTS, ROBOT_SIZE)
    obstacles = fields[:, first["first_obstacle"] :][:, : OBSTACLES * OBSTACLE_SIZE]
    return Scenarios(
        robots[..., [X, Y]],
        robots[..., [GOAL_X, GOAL_Y]],
        robots[..., HEADING],
        obstacles.reshape(count, OBSTACLES, OBSTACLE_SIZE),
    )


def told(numbers: dict[str, float]) -> str:
    middle, low, high = (f"{numbers[x]:,.0f}" for x in ("median", "min", "max"))
    return f"{middle:>11} ({low} to {high})"


def timed(step: Step, num_threads: int) -> Callable[[], tuple[float, float]]:
    """Decisions per second of the clock, and of the processor."""

    def measure() -> tuple[float, float]:
        numba.set_num_threads(num_threads)
        decisions, i, start, worked = 0, 0, time.perf_counter(), time.process_time()
        while (elapsed := time.perf_counter() - start) < ROUND_S:
            decisions += step(i)
            i += 1
        return decisions / elapsed, decisions / (time.process_time() - worked)

    return measure


if __name__ == "__main__":
    main()
