"""Measure the cost of the recorder: at the start of a run, and while it records.

The start is `RunSession` with a recorder and without, alternating, in one process. The share of a
core is that of the recorder's process beside a run that publishes 32 values 100 times a second, and
beside one that publishes nothing any more. Bytes of a row are those of `rows.sqlite` once the
recorder has ended, of random walks: what is repeated takes less.

    python benchmarks/recorder_cost.py [--repeats 15] [--seconds 60] [--per-s 100] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

import numpy as np
from measuring import CoreUse, machine, summary, versions, write_json

from operant.shared.processes.lock import RECORDER, lock_holder
from operant.shared.runs.recorder_process import RecorderSettings
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession

NAMES = [f"group/metric_{i:02}" for i in range(32)]


def start_s(recorder: RecorderSettings | None) -> float:
    """How long a run takes to have its page; its recorder has ended when this returns."""
    run, lock = create_run("start", {})
    start = time.perf_counter()
    session = RunSession(run, lock, publish_interval_s=1, recorder=recorder)
    seconds = time.perf_counter() - start
    if recorder:
        recorder_of(run)
    session.close("finished", 0)
    while lock_holder(run.lock_path, RECORDER):
        time.sleep(0.01)
    return seconds


def recording(seconds: float, per_s: float) -> dict[str, float]:
    """The recorder's share of a core and its memory, once it has started; bytes of a row."""
    run, lock = create_run("record", {})
    session = RunSession(run, lock, publish_interval_s=1)
    pid = recorder_of(run)
    walks = np.random.default_rng(1).normal(size=(int(seconds * per_s) + 1, len(NAMES))).cumsum(0)
    session.metrics.publish(dict(zip(NAMES, walks[0].tolist(), strict=True)), 1, 100)
    while not run.rows_path.exists():
        time.sleep(0.01)
    use, began = CoreUse(pid), time.perf_counter()
    for number in range(1, len(walks)):
        values = dict(zip(NAMES, walks[number].tolist(), strict=True))
        session.metrics.publish(values, 1 + number, 100 * (1 + number))
        time.sleep(max(0.0, number / per_s - (time.perf_counter() - began)))
    share, memory_mib = use.fraction(), use.rss_mib()
    use = CoreUse(pid)
    time.sleep(seconds / 2)
    idle = use.fraction()
    session.close("finished", 0)
    while lock_holder(run.lock_path, RECORDER):
        time.sleep(0.01)
    row_bytes = run.rows_path.stat().st_size / len(walks)
    return {
        "core_fraction": share,
        "idle_core_fraction": idle,
        "resident_mib": memory_mib,
        "bytes_per_row": row_bytes,
    }


def recorder_of(run: Run) -> int:
    """Wait for the recorder, and until it has written its process id beside its lock."""
    while not (holder := lock_holder(run.lock_path, RECORDER)) or not holder.pid:
        time.sleep(0.001)
    return holder.pid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--per-s", type=float, default=100.0)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    sides: dict[str, list[float]] = {"with": [], "without": []}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ |= {"OPERANT_HOME": home, "OPERANT_RECORDER": "on"}
        for _ in range(arguments.repeats):
            sides["with"].append(start_s(RecorderSettings()))
            sides["without"].append(start_s(None))
        result = {name: summary(seconds) for name, seconds in sides.items()}
        running = recording(arguments.seconds, arguments.per_s)
    for name, spread in result.items():
        print(
            f"{name:<8} a recorder: page after {spread['median'] * 1e3:.1f} ms "
            f"({spread['min'] * 1e3:.1f} to {spread['max'] * 1e3:.1f})"
        )
    print(
        f"recording: {running['core_fraction']:.2%} of a core, {running['resident_mib']:.0f} MiB; "
        f"while nothing is published {running['idle_core_fraction']:.2%}; "
        f"{running['bytes_per_row']:.0f} bytes a row of {len(NAMES)} values"
    )
    about = {**machine(), **versions("numpy")}
    write_json(arguments.json, {"machine": about, "start_s": result, "recording": running})


if __name__ == "__main__":
    main()
