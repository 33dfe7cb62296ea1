"""PPO on CartPole end to end: operant and other libraries, in alternating fresh processes.

All learn from each rollout in 4 epochs of 4 minibatches, with separate actor and critic of 64-64
tanh units. Speed is env steps per second from the end of start-up (imports, compilation, the first
iteration) to the end of the last iteration, everything included but the final evaluation; samples
are env steps times epochs. The return is the mean of 100 greedy episodes after training.

- Stable-Baselines3 with operant's settings and rollouts of 4096 env steps. First each number of
  environments given is tried with each number of PyTorch's threads; what is measured is one
  environment, its default, 8, and the fastest number, each with its fastest threads.
- CleanRL's PPO by its recipe, 4 x 128, and with rollouts of 4096 (`peers/cleanrl_ppo.py`).

    python benchmarks/cart_pole.py [--rounds 3] [--only operant sb3] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path
from typing import Any

from measuring import busy, machine, run_side, summary, versions, write_json

PEERS = Path(__file__).parent / "peers"
TRIAL_STEPS = 4096 * 4  # of Stable-Baselines3, for each number of environments and threads

MEASURED = ("env_steps_per_s", "samples_per_s", "startup_s", "peak_memory_gib")

Side = tuple[str, list[int]]  # a script, and its arguments after the seed


def main() -> None:
    arguments = parsed()
    sides: dict[str, Side] = {}
    if chosen(arguments, "operant"):
        sides["operant"] = ("operant_ppo.py", [0])
    if chosen(arguments, "sb3", needs="stable_baselines3"):
        sides |= sb3_sides(arguments)
    if chosen(arguments, "cleanrl", needs="gymnasium"):
        steps, threads = arguments.cleanrl_env_steps, arguments.cleanrl_threads
        for size in ((4, 128), (128, 32)):
            name = f"CleanRL's recipe, {size[0]} x {size[1]}, {threads} threads"
            sides[name] = ("cleanrl_ppo.py", [steps, *size, threads])

    results = measured(sides, arguments.rounds)
    table(results)
    about = {**machine(), **versions("torch", "numba")}
    write_json(arguments.json, {"machine": about, "runs": results})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="each runs every side once")
    parser.add_argument("--only", nargs="*", help="some of operant, sb3, cleanrl")
    parser.add_argument("--sb3-envs", type=int, nargs="*", default=[1, 8, 32, 128, 256])
    parser.add_argument("--sb3-env-steps", type=int, default=102_400)
    parser.add_argument("--cleanrl-env-steps", type=int, default=102_400)
    parser.add_argument("--cleanrl-threads", type=int, default=1, help="PyTorch's")
    parser.add_argument("--torch-threads", type=int, nargs="*", default=default_threads(),
                        help="tried with Stable-Baselines3")  # fmt: skip
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def default_threads() -> list[int]:
    return sorted({1, len(os.sched_getaffinity(0))})


def chosen(arguments: argparse.Namespace, name: str, needs: str | None = None) -> bool:
    """Whether a side is to be measured; says why not where it cannot be."""
    if arguments.only is not None and name not in arguments.only:
        return False
    if needs and importlib.util.find_spec(needs) is None:
        print(f"{name}: skipped, {needs} is not installed")
        return False
    return True


def sb3_sides(arguments: argparse.Namespace) -> dict[str, Side]:
    """With 1 and 8 environments and with the fastest number, each with its fastest threads."""
    best: dict[int, tuple[float, int]] = {}
    for num_envs in arguments.sb3_envs:
        for threads in arguments.torch_threads:
            side = ("sb3_ppo.py", [TRIAL_STEPS, num_envs, threads])
            speed = run(side, seed=1)["env_steps_per_s"]
            print(f"trial: stable-baselines3, {num_envs} envs, {threads} threads {speed:>10,.0f}/s",
                  flush=True)  # fmt: skip
            best[num_envs] = max(best.get(num_envs, (0.0, 0)), (speed, threads))
    fastest = max(best, key=lambda num_envs: best[num_envs])
    sides = {}
    for num_envs in sorted({1, 8, fastest} & set(best)):
        threads = best[num_envs][1]
        numbers = [arguments.sb3_env_steps, num_envs, threads]
        name = f"stable-baselines3, {num_envs} envs, {threads} threads"
        sides[name] = ("sb3_ppo.py", numbers)
    return sides


def run(side: Side, seed: int) -> dict[str, Any]:
    script, numbers = side
    return run_side(str(PEERS / script), str(seed), *map(str, numbers))


def measured(sides: dict[str, Side], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Every side once a round, each first in turn; the round's number is the seed."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    for seed in range(1, rounds + 1):
        names = [*list(sides)[seed % len(sides) :], *list(sides)[: seed % len(sides)]]
        for name in names:
            results[name].append(result := run(sides[name], seed) | {"busy": busy()})
            print(
                f"{name:<40} seed {seed}  {result['env_steps_per_s']:>10,.0f} env steps/s  "
                f"return {result['mean_return']:.1f} after {result['env_steps']:,} env steps  "
                f"start-up {result['startup_s']:.1f} s  {result['peak_memory_gib']:.2f} GiB  "
                f"load {result['busy']:.1f}",
                flush=True,
            )
    return results


def table(results: dict[str, list[dict[str, Any]]]) -> None:
    """Medians, and operant's ratio to each side of the same round."""
    ours = [run["env_steps_per_s"] for run in results.get("operant", [])]
    for name, runs in results.items():
        of = {key: summary([run[key] for run in runs]) for key in MEASURED}
        speed = of["env_steps_per_s"]
        ratios = [mine / run["env_steps_per_s"] for mine, run in zip(ours, runs, strict=False)]
        ratio = f"operant is {summary(ratios)['median']:.1f} x" if ratios else ""
        print(
            f"{name:<40} {speed['median']:>10,.0f} ({speed['min']:,.0f} to {speed['max']:,.0f}) "
            f"env steps/s  {of['samples_per_s']['median']:>11,.0f} samples/s  "
            f"start-up {of['startup_s']['median']:.1f} s  "
            f"{of['peak_memory_gib']['max']:.2f} GiB  {ratio}"
        )


if __name__ == "__main__":
    main()
