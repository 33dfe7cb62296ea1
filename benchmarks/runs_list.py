"""What a list of 500 runs costs: how soon all are listed, and what a key takes.

Runs are folders with a configuration of 60 keys, and pages with 200 publishes of 30 metrics, one of
which is the return. Listed is when the list knows every run, curves when the return of each is
there as well; both from a new `RunsPoller`, without the start of the program (monitor_frame.py has
that). A key is the CPU time of the whole process from pressing it until nothing is left to do, in
200 x 60: the work of the background thread, which goes on meanwhile, is in it.

    python benchmarks/runs_list.py [--runs 500] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time

from measuring import machine, summary, versions, write_json

from operant.monitor.app import MonitorApp
from operant.monitor.runs.runs_poller import RunsPoller, RunsView
from operant.monitor.session.settings import Settings
from operant.shared.run_folder import create_run
from operant.shared.session import RunSession

COLUMNS, ROWS = 200, 60
NUM_PUBLISHES, NUM_METRICS, NUM_KEYS, NUM_SEEDS = 200, 30, 60, 5
# What is pressed, by what it does.
KEYS = {
    "select": ["down", "up", "pagedown", "end", "home"],
    "filter by name": ["slash", *"seed", "escape"],
    "filter by value": ["slash", *"key_1.value_1>3 return>1", "escape"],
    "filter by expression": ["slash", *"/seed[12]/", "escape"],
    "sort by a metric": ["s", *"metric_05", "enter", "S"],
    "group by seeds": ["v", "enter", "down", "space", "v", "enter"],
}
_NAMES = {" ": "space", "/": "slash"}


def make_runs(num_runs: int) -> None:
    for number in range(num_runs):
        experiment, seed = divmod(number, NUM_SEEDS)
        values = {f"key_{i}": {f"value_{i}": experiment * i} for i in range(NUM_KEYS - 1)}
        manifest = {"config": {"seed": seed, **values}, "device": "cpu"}
        run, lock = create_run(f"experiment-{experiment}-seed{seed}", manifest, rank=0)
        session = RunSession(
            run, lock, publish_interval_s=1.0, max_metrics=NUM_METRICS, rows_bytes=1 << 16,
            recorder=None,
        )  # fmt: skip
        for publish in range(NUM_PUBLISHES):
            metrics = {f"metric/metric_{i:02}": float(publish * i) for i in range(NUM_METRICS - 1)}
            metrics["episode/return"] = float(publish + experiment)
            session.metrics.publish(metrics, publish, 1000 * publish)
        session.close("finished", 0)


def seconds_to_list() -> tuple[float, float, RunsView]:
    """Until all runs are known, and until their curves are; the poller's own waits left out."""
    poller = RunsPoller()
    start = time.perf_counter()
    while not (view := poller.poll()).is_complete:
        pass
    view = poller.poll()
    listed_s = time.perf_counter() - start
    while not view.has_returns:
        view = poller.poll()
    return listed_s, time.perf_counter() - start, view


class Still:
    """All runs as they were: what is measured is keys."""

    def __init__(self, view: RunsView) -> None:
        self.view = view

    def poll(self) -> RunsView:
        return self.view


async def key_ms(view: RunsView) -> dict[str, list[float]]:
    """CPU milliseconds of each key."""
    app = MonitorApp(runs_source=Still(view), settings=Settings())
    times: dict[str, list[float]] = {name: [] for name in KEYS}
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        while not any(
            f"{len(view.rows)} runs" in strip.text
            for strip in app.screen._compositor.render_strips()
        ):
            await pilot.pause(0.05)
        for name, keys in KEYS.items():
            for key in keys:
                start = time.process_time()
                await pilot.press(_NAMES.get(key, key))
                await pilot.pause()
                times[name].append(1000 * (time.process_time() - start))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"], os.environ["XDG_CONFIG_HOME"] = home, home
        os.environ["OPERANT_PAGES"] = home
        os.environ["TERM"], os.environ["COLORTERM"] = "xterm-256color", "truecolor"
        make_runs(arguments.runs)
        listed_s, curves_s, view = seconds_to_list()
        num_curves = sum(bool(row.returns) for row in view.rows)
        times = asyncio.run(key_ms(view))
    print(f"{len(view.rows)} runs listed: {listed_s:.2f} s; {num_curves} curves: {curves_s:.2f} s")
    for name, values in times.items():
        spread = summary(values)
        print(
            f"{name}: median {spread['median']:.0f} ms of CPU a key, worst {spread['max']:.0f} ms"
        )
    about = {**machine(), **versions("textual", "rich", "numpy")}
    write_json(arguments.json, {"machine": about, "listed_s": listed_s, "curves_s": curves_s,
                                "key_ms": times})  # fmt: skip


if __name__ == "__main__":
    main()
