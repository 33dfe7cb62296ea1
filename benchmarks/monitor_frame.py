"""Cost of the monitor: the CPU time of a frame with twelve charts, its share of a core, its memory.

A frame is what happens when new numbers arrive: the curves of 1,000 points each are worked out and
drawn at 200 x 60, and Textual makes the terminal's text of the whole screen. CPU time of the
process, over 100 frames after 10 to warm up. The share of a core and the memory are those of the
real program, in a pseudo-terminal of 200 x 60, watching a process that publishes 20 metrics 40
times a second.

    python benchmarks/monitor_frame.py [--seconds 20] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import numpy as np
from measuring import CoreUse, machine, summary, versions, write_json
from terminal import drain, operant_in_a_terminal, read_until

from operant.monitor.app import MonitorApp
from operant.monitor.charts.shown_run import Watched
from operant.monitor.runs.machine.machine import MachineSample
from operant.monitor.runs.reading.run_source import Looked
from operant.monitor.runs.reading.run_view import RunView
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.session.settings import Settings
from operant.shared import History, Metric
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import RunStatus

COLUMNS, ROWS = 200, 60
NUM_CHARTS, NUM_POINTS = 12, 1000
NUM_FRAMES, WARM_UP = 100, 10
NAMES = [f"group{i % 4}/metric_{i:02}" for i in range(NUM_CHARTS)]

PUBLISHER = """
import math, time
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
run, lock = create_run("watched", {})
session = RunSession(run, lock, publish_interval_s=1.0)
print(run.id, flush=True)
for number in range(1, 10**9):
    values = {f"group/metric_{i:02}": math.sin(number * 0.01 * (i + 1)) for i in range(20)}
    session.metrics.publish(values, number, 1000 * number)
    time.sleep(0.025)
"""


class Still:
    """A source that is never asked: the benchmark hands the views to the screen itself."""

    run = Run(Path("/runs") / "benchmark")

    def poll(self) -> RunView:
        return RunView(RunStatus("benchmark", "running"))

    def machine(self) -> MachineSample | None:
        return None

    def close(self) -> None:
        pass


def view(number: int) -> RunView:
    """Curves that all moved on by one point since the view before."""
    rows = np.arange(number, number + NUM_POINTS)
    phases = np.arange(1, NUM_CHARTS + 1)
    values = np.sin(rows * 0.01 * phases[:, None]) + 0.3 * np.sin(rows * 1.7)
    heads = np.stack([rows, rows * 10**9, rows * 10**8, rows, 1000 * rows, np.ones_like(rows)])
    metrics = dict(zip(NAMES, values[:, -1].tolist(), strict=True))
    status = RunStatus("benchmark", "running", 0.1, int(rows[-1]), int(1000 * rows[-1]), 1e5,
                       0.5, 60.0, metrics)  # fmt: skip
    schema = tuple(Metric(name) for name in NAMES)
    return RunView(status, History(NAMES, heads, [values[None]]), schema, (), int(rows[-1]))


async def frame_ms() -> list[float]:
    """CPU milliseconds of each frame."""
    app = MonitorApp(Still.run, run_source=lambda _: Still(), settings=Settings(refresh_s=10.0))
    times = []
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, RunScreen)
        for number in range(NUM_FRAMES + WARM_UP):
            looked = Looked((Watched(view(number)),), ())
            start = time.process_time()
            screen.feed.deliver(looked)
            await pilot.pause()
            update = screen._compositor.render_update(full=True)
            assert update
            update.render_segments(app.console)
            times.append(1000 * (time.process_time() - start))
    return times[WARM_UP:]


def share_of_a_core(seconds: float) -> dict[str, float]:
    """The real program beside a process that publishes."""
    publisher = subprocess.Popen(
        [sys.executable, "-c", PUBLISHER], stdout=subprocess.PIPE, text=True
    )
    assert publisher.stdout
    run_id = publisher.stdout.readline().strip()
    try:
        with operant_in_a_terminal("monitor", run_id) as (process_id, terminal):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            read_until(terminal, b"metric_00")
            drain(terminal)
            time.sleep(3)
            use = CoreUse(process_id)
            time.sleep(seconds)
            return {"core_fraction": use.fraction(), "rss_mib": use.rss_mib()}
    finally:
        publisher.kill()
        publisher.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"], os.environ["XDG_CONFIG_HOME"] = home, home
        os.environ["TERM"], os.environ["COLORTERM"] = "xterm-256color", "truecolor"
        times = asyncio.run(frame_ms())
        share = share_of_a_core(arguments.seconds)
    spread = summary(times)
    print(f"a frame of {NUM_CHARTS} charts: median {spread['median']:.1f} ms of CPU, "
          f"worst {spread['max']:.1f} ms")  # fmt: skip
    print(f"watching: {share['core_fraction']:.1%} of a core, {share['rss_mib']:.0f} MiB")
    about = {**machine(), **versions("textual", "rich", "numpy")}
    result = {"frame_ms": spread, "watching": share}
    write_json(arguments.json, {"machine": about, **result})


if __name__ == "__main__":
    main()
