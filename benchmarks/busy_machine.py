"""Training beside another program that keeps a core busy: the number of threads that operant
chooses, against one thread and against all.

    python benchmarks/busy_machine.py [--rounds 5] [--only ppo sac] [--idle] [--json FILE]

A program in an endless loop is pinned to the last core. Sides alternate, each in a process of its
own, whose speed counts once the number of threads is chosen.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from statistics import median
from typing import Any

from measuring import busy, machine, summary, versions, write_json

LARGE = ("--set", "policy.hidden_sizes=[256,256]")
CONFIGS: dict[str, tuple[str, ...]] = {
    "ppo": ("cart_pole_ppo",),
    "sac": ("pendulum_sac", *LARGE),
    "td3": ("pendulum_td3", *LARGE),
    "images": ("minatar_breakout_pqn",),
    "workers": ("gymnasium:CartPole-v1", "--set", "workers.num_workers=2"),
}
SPIN = "import os, sys; os.sched_setaffinity(0, [int(sys.argv[1])])\nwhile True: pass"
CHOSEN = "chosen"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=list(CONFIGS), help=f"of {', '.join(CONFIGS)}")
    parser.add_argument("--idle", action="store_true", help="without the other program")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    threads = {CHOSEN: 0, "1 thread": 1, f"{len(cores)} threads": len(cores)}
    results: dict[str, Any] = {}
    with contextlib.nullcontext() if arguments.idle else spinning_on(cores[-1]):
        for name in arguments.only:
            speeds: dict[str, list[float]] = {side: [] for side in threads}
            for number in range(arguments.rounds):
                for side in list(threads)[:: 1 if number % 2 else -1]:
                    speeds[side].append(speed(name, threads[side], arguments.seconds))
            ratios = [
                chosen / max(others) for chosen, *others in zip(*speeds.values(), strict=True)
            ]
            results[name] = {"env_steps_per_s": speeds, "ratios": ratios}
            print(f"{name}: {median(ratios):.2f} of the better one ({min(ratios):.2f} to "
                  f"{max(ratios):.2f}), load {busy():.1f}")  # fmt: skip
            for side, found in speeds.items():
                line = "{median:>12,.0f} env steps/s ({min:,.0f} to {max:,.0f})"
                print(f"  {side:<10}", line.format(**summary(found)), flush=True)
    about = {**machine(), **versions("torch", "numba")}
    write_json(arguments.json, {"machine": about, "busy": not arguments.idle, "runs": results})


@contextlib.contextmanager
def spinning_on(core: int) -> Iterator[None]:
    spinner = subprocess.Popen([sys.executable, "-c", SPIN, str(core)])
    try:
        yield
    finally:
        spinner.kill()
        spinner.wait()


def speed(name: str, num_threads: int, seconds: float) -> float:
    """Env steps per second of training."""
    command = [
        sys.executable, "-m", "operant", "bench", "train", *CONFIGS[name], "--json", "--device",
        "cpu", "--repeats", "1", "--seconds", str(seconds), "--set", f"num_threads={num_threads}",
    ]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    (result,) = json.loads(done.stdout)["results"]
    found: float = result["env_steps_per_s"]["median"]
    return found


if __name__ == "__main__":
    main()
