"""MinAtar's games: raw env steps per second, and what trained runs reach.

`speed` steps each game with random actions that are drawn before: operant's with 8,192 environments
on all cores, and the package `minatar` one environment in Python, in alternating rounds of one
process. The package is under the GPL-3.0 and no dependency; without it operant is measured alone.
`--gymnax PYTHON` adds gymnax's games, by the Python of an environment that has gymnax and JAX, in a
process of their own. With NUMBA_NUM_THREADS=1 the steps per second of processor time are those of
one core, which other work on the machine changes little.

    pip install --no-deps minatar==1.0.15
    python benchmarks/minatar_games.py speed [--rounds 5] [--num-envs 8192] [--gymnax PYTHON]

`returns` evaluates runs greedily, each a seed of a preset, and prints for each environment the mean
with its standard deviation over seeds, and the interquartile mean with a 95 % bootstrap interval.

    python benchmarks/minatar_games.py returns RUN... [--episodes 128] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import math
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import busy, machine, summary, versions, write_json

import operant
from operant.monitor.runs.list.group_statistics import middle_of
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.names import MINATAR_ENV_NAMES, MINATAR_PREFIX
from operant.trainer.envs.vector import Transitions, VectorEnv

STEPS = 64  # of each environment a round
PACKAGE_STEPS = 20_000
NUM_ACTIONS = 6
GYMNAX_SCRIPT = Path(__file__).parent / "peers" / "gymnax_minatar.py"
GYMNAX_GAMES = {
    f"{MINATAR_PREFIX}{name}": game
    for name, game in (
        ("asterix", "Asterix"), ("breakout", "Breakout"), ("freeway", "Freeway"),
        ("space_invaders", "SpaceInvaders"),
    )
}  # fmt: skip

Speeds = tuple[float, float]  # env steps per second, and per second of processor time


def main() -> None:
    arguments = parsed()
    result = arguments.run(arguments)
    write_json(arguments.json, {"machine": {**machine(), **versions("numba", "torch")}, **result})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name, run in (("speed", speed), ("returns", returns)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("--json", help="also write everything to this file")
        if run is returns:
            command.add_argument("runs", nargs="+", metavar="RUN")
            command.add_argument("--episodes", type=int, default=128)
        else:
            command.add_argument("--rounds", type=int, default=5)
            command.add_argument("--num-envs", type=int, default=8192)
            command.add_argument("--gymnax", metavar="PYTHON", help="with gymnax and JAX")
    return parser.parse_args()


def speed(arguments: argparse.Namespace) -> dict[str, Any]:
    numbers = np.random.default_rng(1)
    results = {}
    for name in MINATAR_ENV_NAMES:
        sides: dict[str, Ours | Theirs | Gymnax] = {
            "operant": Ours(name, arguments.num_envs, numbers)
        }
        if importlib.util.find_spec("minatar"):
            sides["minatar"] = Theirs(name, numbers)
        if arguments.gymnax and name in GYMNAX_GAMES:
            sides["gymnax"] = Gymnax(arguments.gymnax, GYMNAX_GAMES[name], arguments.num_envs)
        rounds = [[side.round() for side in sides.values()] for _ in range(arguments.rounds)]
        results[name] = {"busy": busy()}
        print(f"{name}, load {busy():.1f}")
        for side, speeds in zip(sides, zip(*rounds, strict=True), strict=True):
            keys = [summary(list(found)) for found in zip(*speeds, strict=True)]
            results[name][side] = dict(zip(("per_s", "per_cpu_s"), keys, strict=True))
            print(line(side, *keys), flush=True)
    return {"env_steps": results}


def line(side: str, wall: dict[str, float], cpu: dict[str, float]) -> str:
    return "  {}  {median:>12,.0f} env steps/s ({min:,.0f} to {max:,.0f})".format(
        side, **wall
    ) + "  {median:>12,.0f} per second of processor time ({min:,.0f} to {max:,.0f})".format(**cpu)


def timed(act: Callable[[], None], num_steps: int) -> Speeds:
    start, start_cpu = time.perf_counter(), time.process_time()
    act()
    cpu_s, wall_s = time.process_time() - start_cpu, time.perf_counter() - start
    return num_steps / wall_s, num_steps / cpu_s


class Ours:
    """A game of operant's, compiled and well into its episodes."""

    def __init__(self, name: str, num_envs: int, numbers: np.random.Generator) -> None:
        spec = load_spec(name)
        self.envs, self.out = VectorEnv(spec, num_envs, seed=1), Transitions.of(spec, num_envs)
        self.actions = numbers.integers(NUM_ACTIONS, size=(STEPS, num_envs), dtype=np.int64)
        self.envs.reset(self.out.obs)
        self.act()

    def act(self) -> None:
        for actions in self.actions:
            self.envs.step(actions, self.out)

    def round(self) -> Speeds:
        return timed(self.act, self.actions.size)


class Theirs:
    """A game of the package, with its observation after each step."""

    def __init__(self, name: str, numbers: np.random.Generator) -> None:
        logging.disable(logging.WARNING)  # it warns that there is nothing to draw pictures with
        import minatar

        logging.disable(logging.NOTSET)
        self.game = minatar.Environment(name.removeprefix(MINATAR_PREFIX))
        self.actions = numbers.integers(NUM_ACTIONS, size=PACKAGE_STEPS).tolist()

    def act(self) -> None:
        game = self.game
        game.reset()
        for action in self.actions:
            _, terminated = game.act(action)
            if terminated:
                game.reset()
            game.state()

    def round(self) -> Speeds:
        return timed(self.act, len(self.actions))


class Gymnax:
    """A game of gymnax's, in another Python."""

    def __init__(self, python: str, game: str, num_envs: int) -> None:
        command = [python, str(GYMNAX_SCRIPT), game, str(num_envs), str(STEPS)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.round()  # once it has compiled

    def round(self) -> Speeds:
        given, taken = self.process.stdin, self.process.stdout
        assert given
        assert taken
        given.write("\n")
        per_s, per_cpu_s = json.loads(taken.readline())
        return per_s, per_cpu_s


def returns(arguments: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, list[float]] = defaultdict(list)
    for run in arguments.runs:
        policy = operant.load(run)
        episodes = operant.evaluate(policy, num_episodes=arguments.episodes)
        found[policy.env].append(float(episodes.mean()))
    table = {}
    for name, means in found.items():
        scores = np.array(means)
        iqm = middle_of(means, "iqm")
        assert iqm
        table[name] = {
            "scores": means, "mean": scores.mean(),
            "deviation": scores.std(ddof=1) if len(scores) > 1 else math.nan,
            "iqm": iqm.value, "low": iqm.low, "high": iqm.high,
        }  # fmt: skip
        print(
            "{:<24} {} seeds  mean {mean:.1f} ± {deviation:.1f}  IQM {iqm:.1f} "
            "({low:.1f} to {high:.1f})".format(name, len(means), **table[name]),
            flush=True,
        )
    return {"returns": table}


if __name__ == "__main__":
    main()
