"""The monitor left open: whether its memory and its frames stay as they are.

The whole app without a terminal, at a raised rate of ten looks a second, on a run that publishes 64
metrics a hundred times a second. Meanwhile, over and over: the process of the run is killed, a new
one takes the run over, the page is deleted under it; charts are zoomed, enlarged and filtered, the
list of runs is opened and left. Any exception ends it with an error.

    python benchmarks/soak.py [--minutes 120] [--json FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil
from measuring import machine, versions, write_json

from operant.monitor.app import MonitorApp
from operant.monitor.screens.run_screen import RunScreen
from operant.monitor.screens.runs_screen import RunsScreen
from operant.monitor.session.settings import Settings
from operant.shared.page.page_place import page_path
from operant.shared.processes.lock import lock_holder
from operant.shared.runs.run_folder import Run, create_run

SIZE = (200, 60)
SAMPLE_EVERY_S = 1.0
ROUND_S = 12.0  # between two acts
PATIENCE_S = 60.0

PUBLISHER = """
import math, sys, time
from pathlib import Path
from operant.shared.processes.lock import RunLock
from operant.shared.runs.run_folder import Run
from operant.shared.runs.session import RunSession
run = Run(Path(sys.argv[1]))
lock = RunLock(run.lock_path)
session = RunSession(run, lock, publish_interval_s=0.5, continue_from=10**15)
while True:
    number = session.metrics.num_publishes + 1
    values = {f"group/metric_{i:02}": math.sin(number * 0.01 * (i + 1)) for i in range(64)}
    session.metrics.publish(values, number, 1000 * number)
    if number % 500 == 0:
        session.metrics.event("info", f"publish {number}")
    time.sleep(0.01)
"""


@dataclass
class Soak:
    """Observations of a soak test: memory and CPU milliseconds at every look, and the actions."""

    rss_mib: list[float] = field(default_factory=list)
    look_ms: list[float] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    states: set[str] = field(default_factory=set)

    def change(self, values: list[float]) -> float:
        """The median of the last fifth less that of the second: the first one warms up."""
        fifth = max(1, len(values) // 5)
        return statistics.median(values[-fifth:]) - statistics.median(values[fifth : 2 * fifth])


class Publisher:
    """A process that publishes into a run, until it is killed."""

    def __init__(self, run: Run) -> None:
        self._command = [sys.executable, "-c", PUBLISHER, str(run.folder)]
        self._run = run
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(self._command)
        deadline = time.monotonic() + PATIENCE_S
        while lock_holder(self._run.lock_path) is None:
            if time.monotonic() > deadline or process.poll() is not None:
                raise RuntimeError("the publishing process did not start")
            time.sleep(0.01)
        return process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def replace(self) -> None:
        self.process = self._start()


async def soak(seconds: float, round_s: float = ROUND_S, num_acts: int = 0) -> Soak:
    """Watch for so long, and until so much has happened; every `round_s` something does."""
    run, lock = create_run("soak", {})
    lock.release()
    publisher = Publisher(run)
    seen, own = Soak(), psutil.Process()
    app = MonitorApp(run, settings=Settings(refresh_s=0.1))
    acts = _acts(run, publisher)
    try:
        async with app.run_test(size=SIZE) as pilot:
            start = time.monotonic()
            acted_s, sampled_s, cpu_s = start, start, time.process_time()
            while time.monotonic() - start < seconds or len(seen.acts) < num_acts:
                await pilot.pause(0.05)
                now_s = time.monotonic()
                if now_s - sampled_s >= min(SAMPLE_EVERY_S, round_s):
                    looks = (now_s - sampled_s) / app.session.settings.refresh_s
                    seen.look_ms.append(1000 * (time.process_time() - cpu_s) / looks)
                    seen.rss_mib.append(own.memory_info().rss / 2**20)
                    sampled_s, cpu_s = now_s, time.process_time()
                    _note_state(app, seen)
                if now_s - acted_s >= round_s:
                    _note_state(app, seen)
                    name, keys, act = acts[len(seen.acts) % len(acts)]
                    await pilot.press(*keys)
                    act()
                    seen.acts.append(name)
                    acted_s = time.monotonic()
    finally:
        publisher.kill()
    return seen


def _acts(run: Run, publisher: Publisher) -> list[tuple[str, list[str], Callable[[], None]]]:
    """Names, keys to press, and what to do."""

    def nothing() -> None:
        pass

    def delete_page() -> None:
        page_path(run).unlink(missing_ok=True)

    return [
        ("kill", ["z", "z", "comma", "less_than_sign"], publisher.kill),
        ("replace", ["0", "y", "s"], publisher.replace),
        ("delete the page", ["0", "enter"], delete_page),
        ("enlarge and find", ["escape", "slash", "4", "enter"], nothing),
        ("kill without a page", ["slash", "escape"], publisher.kill),
        ("replace again", ["r", "pageup", "r"], publisher.replace),
        ("list of runs", ["escape"], nothing),
        ("back to the run", ["enter"], nothing),
    ]


def _note_state(app: MonitorApp, seen: Soak) -> None:
    if isinstance(app.screen, RunScreen) and app.screen.state:
        seen.states.add(app.screen.state)
    elif isinstance(app.screen, RunsScreen):
        seen.states.add("list")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"] = os.environ["XDG_CONFIG_HOME"] = home
        seen = asyncio.run(soak(60 * arguments.minutes))
    memory, look = seen.change(seen.rss_mib), seen.change(seen.look_ms)
    print(f"{arguments.minutes:g} minutes, {len(seen.acts)} acts, states {sorted(seen.states)}")
    print(f"memory {seen.rss_mib[-1]:.1f} MiB, changed by {memory:+.1f} MiB")
    print(f"CPU a look {statistics.median(seen.look_ms):.1f} ms, changed by {look:+.1f} ms")
    about = {**machine(), **versions("textual", "numpy")}
    write_json(
        arguments.json,
        {"machine": about, "rss_mib": seen.rss_mib, "look_ms": seen.look_ms, "acts": seen.acts},
    )


if __name__ == "__main__":
    main()
