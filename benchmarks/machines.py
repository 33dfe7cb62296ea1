"""Three machines, one of which has 40 % of a core: `--split auto` beside fixed splits.

The machines are network namespaces with quotas of the processor (70, 70 and 40 % of a core), and a
packet from one to another takes 0, 1 or 50 ms, of which with 50 ms 1 % never arrive. Each split
trains alone, for SECONDS after as many in which it settles; splits take turns.

    python benchmarks/machines.py [--seconds 15] [--repeats 1] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from machines import Machines, ping_s, ports, start_rank, why_no_quotas, why_none
from measuring import machine, versions, write_json

from operant.shared.find_runs import find_run
from operant.shared.ranks import read_status
from operant.shared.status import open_page

QUOTAS = (0.7, 0.7, 0.4)
NETWORKS = ((0.0, 0.0), (0.001, 0.0), (0.05, 0.01))  # delay in s, fraction lost
SPLITS = ("auto", "1:1:1", "7:7:4", "2:2:1", "5:5:2", "3:3:1")
TIMEOUT_S = 120.0
CONFIG = "pendulum_ppo"
SETTINGS = (
    "num_envs=1536", "rollout_steps=64", "total_env_steps=1000000000000", "ppo.num_epochs=2",
    "ppo.num_minibatches=4", "evaluation.num_episodes=0", "num_threads=1",
)  # fmt: skip


def speed(machines: Machines, split: str, port: int, seconds: float, folder: Path) -> float:
    """Env steps/s of all three together."""
    name = f"split-{split.replace(':', '-')}-{port}"
    command = [sys.executable, "-m", "operant", "train", CONFIG, "--name", name, "--split", split]
    for each in SETTINGS:
        command += ["--set", each]
    processes = [
        start_rank(machines, rank, port, command, folder / f"{rank}.txt", {}) for rank in range(3)
    ]
    try:
        began_at = time.monotonic()
        while (steps(name) or 0) == 0:
            if time.monotonic() - began_at > TIMEOUT_S or processes[0].poll() is not None:
                raise RuntimeError((folder / "0.txt").read_text())
            time.sleep(0.1)
        time.sleep(seconds)
        first, began_at = next_steps(name)
        time.sleep(seconds)
        last, ended_at = next_steps(name)
        if split == "auto":
            print_shares(name)
        return (last - first) / (ended_at - began_at)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def steps(name: str) -> int | None:
    try:
        return read_status(find_run(name)).env_steps
    except Exception:  # there is no run yet
        return None


def next_steps(name: str) -> tuple[int, float]:
    """Env steps just after an iteration, and when that was."""
    before = steps(name)
    while (now := steps(name)) == before:
        time.sleep(0.002)
    return now or 0, time.monotonic()


def print_shares(name: str) -> None:
    page = open_page(find_run(name))
    told = [event.text for event in page.events() if "environments of ranks" in event.text]
    page.detach()
    print(f"  {len(told) - 1} moves; {told[-1]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    if reason := why_none() or why_no_quotas():
        print(f"skipped: {reason}")
        return 0
    results, numbers = [], ports()
    for delay_s, loss in NETWORKS:
        with Machines(3, delay_s, loss, QUOTAS) as machines, tempfile.TemporaryDirectory() as place:
            os.environ["OPERANT_HOME"] = place
            round_trip_s = statistics.median(ping_s(machines))
            print(f"{1e3 * delay_s:g} ms, {loss:.0%} lost; there and back in "
                  f"{1e3 * round_trip_s:.2f} ms", flush=True)  # fmt: skip
            speed(machines, SPLITS[1], next(numbers), 1.0, Path(place))  # loops are compiled then
            found = defaultdict(list)
            for repeat in range(arguments.repeats):
                for split in SPLITS[repeat:] + SPLITS[:repeat]:
                    port = next(numbers)
                    rate = speed(machines, split, port, arguments.seconds, Path(place))
                    found[split].append(rate)
                    print(f"  {split:6} {rate:12,.0f} env steps/s", flush=True)
        medians = {split: statistics.median(rates) for split, rates in found.items()}
        best = max((split for split in medians if split != "auto"), key=medians.__getitem__)
        ratio = medians["auto"] / medians[best]
        print(f"  auto has {ratio:.3f} of the speed of the best fixed split, {best}", flush=True)
        results.append({"delay_s": delay_s, "loss": loss, "env_steps_per_s": dict(found),
                        "auto_of_best": ratio})  # fmt: skip
    if arguments.json:
        about = {"machine": machine(), "versions": versions("torch", "numba")}
        write_json(arguments.json, {**about, "quotas": QUOTAS, "results": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
