"""Processor time of `operant play` in a terminal of 120 x 40, as a share of a core.

python benchmarks/play_cost.py RUN [--seconds 20] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import select
import time
from os import read

import psutil
from terminal import operant_in_a_terminal, read_until

FRAME = b"\x1b[?2026h"  # how each begins


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    with operant_in_a_terminal("play", arguments.run, "--seed", arguments.seed) as (pid, terminal):
        read_until(terminal, FRAME)
        watch(terminal, 2.0)
        process = psutil.Process(pid)
        before, began_s = cpu_s(process), time.monotonic()
        shown = watch(terminal, arguments.seconds)
        used_s, took_s = cpu_s(process) - before, time.monotonic() - began_s
    frames = shown.count(FRAME)
    print(json.dumps({
        "core_fraction": round(used_s / took_s, 4),
        "frames_per_s": round(frames / took_s, 1),
        "ms_per_frame": round(1000 * used_s / max(frames, 1), 2),
        "kB_per_s": round(len(shown) / took_s / 1000, 1),
        "load": psutil.getloadavg()[0],
    }))  # fmt: skip


def cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def watch(terminal: int, seconds: float) -> bytes:
    """What is shown meanwhile."""
    shown, end_s = b"", time.monotonic() + seconds
    while time.monotonic() < end_s:
        if select.select([terminal], [], [], 0.05)[0]:
            shown += read(terminal, 65536)
    return shown


if __name__ == "__main__":
    main()
