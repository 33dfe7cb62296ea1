"""How long the charts of a run of 1,000 metrics take to answer a key.

CPU time of the process for each key, until the whole screen at 200 x 60 is the terminal's text;
every key four times, on 40 groups of 25 metrics with 1,000 points each.

    python benchmarks/many_metrics.py [--metrics 1000] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time

import monitor_frame
from measuring import machine, summary, versions, write_json

from operant.monitor.app import MonitorApp
from operant.monitor.charts.shown_run import Watched
from operant.monitor.runs.run_source import Looked
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.session.settings import Settings

GROUP_SIZE = 25
TIMES = 4
KEYS = (
    "j", "k", "right_square_bracket", "left_square_bracket", "c", "c", "P", "P", "m", "M", "z", "0",
    "comma", "pagedown", "pageup", "enter", "escape", "slash", "e", "4", "enter", "escape", "f",
    "s", "a", "y", "7", "7", "G", "g",
)  # fmt: skip


async def key_ms() -> dict[str, list[float]]:
    """CPU milliseconds of each key."""
    still = monitor_frame.Still()
    app = MonitorApp(still.run, run_source=lambda _: still, settings=Settings(refresh_s=10.0))
    times: dict[str, list[float]] = {key: [] for key in KEYS}
    async with app.run_test(size=(monitor_frame.COLUMNS, monitor_frame.ROWS)) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, RunScreen)
        screen.feed.deliver(Looked((Watched(monitor_frame.view(0)),), ()))
        await pilot.pause()
        for key in KEYS * TIMES:
            start = time.process_time()
            await pilot.press(key)
            await pilot.pause()
            update = app.screen._compositor.render_update(full=True)
            assert update
            update.render_segments(app.console)
            times[key].append(1000 * (time.process_time() - start))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--metrics", type=int, default=1000)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    monitor_frame.NUM_CHARTS = arguments.metrics
    monitor_frame.NAMES = [
        f"group_{i // GROUP_SIZE:02}/metric_{i:04}" for i in range(arguments.metrics)
    ]
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"], os.environ["XDG_CONFIG_HOME"] = home, home
        os.environ["TERM"], os.environ["COLORTERM"] = "xterm-256color", "truecolor"
        times = asyncio.run(key_ms())
    medians = {key: summary(values)["median"] for key, values in times.items()}
    slowest = max(medians, key=lambda key: medians[key])
    print(f"slowest key {slowest}: median {medians[slowest]:.0f} ms of CPU; "
          f"worst of all {max(map(max, times.values())):.0f} ms")  # fmt: skip
    about = {**machine(), **versions("textual", "rich", "numpy")}
    write_json(arguments.json, {"machine": about, "key_ms": times})


if __name__ == "__main__":
    main()
