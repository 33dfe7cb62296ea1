"""Learning from replay: operant, Stable-Baselines3 and, where it is installed, sbx (JAX), in turns.

DQN on CartPole, TD3 and SAC on Pendulum, with the same networks, batches, environments (8) and one
update for each env step. Speed is updates per second of the whole loop, stepping included, from the
first update on. Each side has the number of threads that it is fastest with, tried first.

    python benchmarks/off_policy.py [--rounds 5] [--only dqn sac] [--json FILE]
    python benchmarks/off_policy.py --only td3 sac --env HalfCheetah-v5 --hidden 256
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import os
from pathlib import Path
from statistics import median
from typing import Any

from measuring import busy, machine, run_side, summary, versions, write_json

PEERS = Path(__file__).parent / "peers"
SIDES = {
    "operant": ("operant_off_policy.py",),
    "stable-baselines3": ("sb3_off_policy.py", "stable_baselines3"),
    "sbx": ("sb3_off_policy.py", "sbx"),
}
BATCHES = {"dqn": 64, "td3": 256, "sac": 256}
TRIAL_UPDATES = 1024


def main() -> None:
    arguments = parsed()
    if not importlib.util.find_spec("sbx"):
        del SIDES["sbx"]
    results: dict[str, Any] = {}
    for algorithm, hidden in itertools.product(arguments.only, arguments.hidden):
        env = arguments.env
        threads = {name: fastest_threads(name, algorithm, env, hidden) for name in SIDES}
        speeds: dict[str, list[float]] = {name: [] for name in SIDES}
        for number in range(arguments.rounds):
            for name in list(SIDES) if number % 2 else list(SIDES)[::-1]:
                speeds[name].append(
                    speed(name, algorithm, env, hidden, arguments.updates, threads[name])
                )
        own = speeds["operant"]
        ratios = {
            name: [a / b for a, b in zip(own, other, strict=True)]
            for name, other in speeds.items() if name != "operant"
        }  # fmt: skip
        label = f"{algorithm}{env and f' on {env}'}, {hidden}-{hidden}, batch {BATCHES[algorithm]}"
        results[label] = {"threads": threads, "updates_per_s": speeds, "ratios": ratios}
        sides = "  ".join(
            f"{name} ({threads[name]} threads) {spread(speeds[name])} updates/s" for name in SIDES
        )
        times = ", ".join(f"{median(values):.2f} x {name}" for name, values in ratios.items())
        print(f"{label:<26} {sides}  operant is {times}  load {busy():.1f}", flush=True)
    libraries = ("stable-baselines3", *(["sbx-rl", "jax"] if "sbx" in SIDES else []))
    about = {**machine(), **versions("torch", "numba", *libraries)}
    write_json(arguments.json, {"machine": about, "runs": results})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="each runs both sides once")
    parser.add_argument("--only", nargs="*", default=list(BATCHES), help="some of dqn, td3, sac")
    parser.add_argument("--env", default="", help="another, for all, such as HalfCheetah-v5")
    parser.add_argument("--hidden", type=int, nargs="*", default=[64, 256], help="units a layer")
    parser.add_argument("--updates", type=int, default=4096, help="of each run")
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def fastest_threads(name: str, algorithm: str, env: str, hidden: int) -> int:
    """The number of threads with which one side is fastest, of 1 and all cores."""
    tried = sorted({1, len(os.sched_getaffinity(0))})
    return max(tried, key=lambda n: speed(name, algorithm, env, hidden, TRIAL_UPDATES, n))


def speed(
    name: str, algorithm: str, env: str, hidden: int, num_updates: int, threads: int
) -> float:
    """Updates per second of one run."""
    numbers = [hidden, BATCHES[algorithm], num_updates, threads]
    script, *library = SIDES[name]
    side = (str(PEERS / script), *library, algorithm, env, *map(str, numbers))
    return float(run_side(*side)["updates_per_s"])


def spread(speeds: list[float]) -> str:
    of = summary(speeds)
    return f"{of['median']:,.0f} ({of['min']:,.0f} to {of['max']:,.0f})"


if __name__ == "__main__":
    main()
