"""Measure the cost of watching: the speed of a run with and without a monitor, in pairs.

The trainer uses all cores but one, which is left for whoever watches, as on any machine that is not
full. The monitor is the real one, in a pseudo-terminal of 120 x 40 whose output is dropped.
Speed is env steps per second between the first and the last iteration.

    python benchmarks/monitor_cost.py [--pairs 5] [--env-steps 3000000] [--json FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from measuring import CoreUse, machine, summary, versions, write_json
from terminal import drain, operant_in_a_terminal, read_until

from operant.shared.processes.lock import lock_holder
from operant.shared.rows.curves import Curves
from operant.shared.runs.find_runs import latest_run
from operant.shared.runs.run_folder import Run


def train(env_steps: int, seed: int, num_threads: int, watched: bool) -> dict[str, float]:
    """One run from start to end; returns its speed and what the monitor used."""
    command = [
        sys.executable, "-m", "operant", "train", "cart_pole_ppo", "--detach",
        "--seed", str(seed), "--set", f"total_env_steps={env_steps}",
        "--set", f"num_threads={num_threads}", "--set", "evaluation.num_episodes=0",
    ]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    run = latest_run()
    result: dict[str, float] = {}
    with attached_monitor(result) if watched else contextlib.nullcontext():
        while lock_holder(run.lock_path):
            time.sleep(0.05)
    return {**result, "env_steps_per_s": env_steps_per_s(run)}


def env_steps_per_s(run: Run) -> float:
    """From the second publish to the last."""
    with Curves.of_run(run) as curves:
        history = curves.history()
    seconds = history.elapsed_s[-1] - history.elapsed_s[0]
    return float((history.env_steps[-1] - history.env_steps[0]) / seconds)


@contextlib.contextmanager
def attached_monitor(result: dict[str, float]) -> Iterator[None]:
    """`operant monitor --latest` in a terminal of its own; fills in what it used of a core from
    its first frame on: what starting costs is paid once, by a monitor that stays.
    """
    with operant_in_a_terminal("monitor", "--latest") as (process_id, terminal):
        read_until(terminal, b"episode/return")
        drain(terminal)
        use = CoreUse(process_id)
        try:
            yield
        finally:
            result["monitor_core_fraction"] = use.fraction()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--env-steps", type=int, default=3_000_000)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    num_threads = max(1, len(os.sched_getaffinity(0)) - 1)
    pairs = []
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"] = home
        train(200_000, 0, num_threads, watched=False)  # compiles what is not compiled yet
        for seed in range(1, arguments.pairs + 1):
            # Each side goes first in turn: what a machine does over time hits both.
            order = (True, False) if seed % 2 else (False, True)
            sides = {
                watched: train(arguments.env_steps, seed, num_threads, watched) for watched in order
            }
            pairs.append({"watched": sides[True], "alone": sides[False]})
            speeds = [sides[watched]["env_steps_per_s"] for watched in (True, False)]
            print(
                f"pair {seed}: watched {speeds[0]:,.0f}/s  alone {speeds[1]:,.0f}/s  "
                f"ratio {speeds[0] / speeds[1]:.4f}  "
                f"monitor {sides[True]['monitor_core_fraction']:.1%} of a core",
                flush=True,
            )
    ratios = [
        pair["watched"]["env_steps_per_s"] / pair["alone"]["env_steps_per_s"] for pair in pairs
    ]
    print(f"median ratio {statistics.median(ratios):.4f}")
    about = {**machine(), **versions("torch", "numba", "textual"), "num_threads": num_threads}
    write_json(arguments.json, {"machine": about, "ratio": summary(ratios), "pairs": pairs})


if __name__ == "__main__":
    main()
