"""How long people wait: for `operant --help`, and for the first frame of the monitor.

Both from the start of the process. The frame is there when the terminal has been sent the title of
the first chart: in turn of a run that has published 64 metrics 50,000 times, and of one that has
just begun.

    python benchmarks/startup.py [--repeats 7] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from measuring import machine, summary, versions, write_json
from terminal import operant_in_a_terminal, read_until

from operant.shared.page.schema import Metric
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

NUM_PUBLISHES = 50_000
NUM_METRICS = 64


def help_s() -> float:
    start = time.perf_counter()
    command = [sys.executable, "-m", "operant", "--help"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def first_frame_s(run: str) -> float:
    start = time.perf_counter()
    with operant_in_a_terminal("monitor", run) as (_, terminal):
        read_until(terminal, b"group/metric_00")
        return time.perf_counter() - start


def make_run(num_publishes: int) -> str:
    """A run of so many publishes; returns its id."""
    names = [f"group/metric_{i:02}" for i in range(NUM_METRICS)]
    run, lock = create_run("startup", {})
    metrics = [Metric(name) for name in names]
    session = RunSession(run, lock, metrics, publish_interval_s=1)
    for number in range(1, num_publishes + 1):
        session.metrics.publish(dict.fromkeys(names, float(number)), number, number * 1000)
    session.close("finished", 0)
    return run.id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"] = home
        runs = {
            "first frame, old run": make_run(NUM_PUBLISHES),
            "first frame, new run": make_run(1),
        }
        waits: dict[str, list[float]] = {"--help": [], **{name: [] for name in runs}}
        for _ in range(arguments.repeats):
            waits["--help"].append(help_s())
            for name, run in runs.items():
                waits[name].append(first_frame_s(run))
    spreads = {name: summary(seconds) for name, seconds in waits.items()}
    for name, spread in spreads.items():
        print(f"{name:<22} median {spread['median']:.3f} s  worst {spread['max']:.3f} s")
    about = {**machine(), **versions("textual", "click", "numpy")}
    write_json(arguments.json, {"machine": about, "seconds": spreads})


if __name__ == "__main__":
    main()
