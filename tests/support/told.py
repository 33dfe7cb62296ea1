"""Alerts: settings, a command that appends messages to a file, and a loop that causes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import wait_for

from operant.monitor.notify.settings import alert_settings_path
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run

# Publishes a growing loss until its standard input ends.
LOOP = """
import sys, threading, time
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
config = {"recorder": {"alerts": ["loss/value > 20"], "command": "touch hacked"}}
run, lock = create_run("loop", {"config": config})
session = RunSession(run, lock, publish_interval_s=0.1)
is_over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
number = 0
while not is_over.wait(0.01):
    number += 1
    session.metrics.publish({"loss/value": number, "episode/return": 7.5}, number, 10 * number)
session.close("finished", 0)
"""


FIELDS = ("kind", "run", "name", "state", "metric", "value", "env_steps", "folder", "text")


def command_into(path: Path) -> str:
    """A line of settings: a command that appends each message to the file at `path`."""
    values = "|".join(f"$OPERANT_EVENT_{field.upper()}" for field in FIELDS)
    return f"command = 'echo \"{values}\" >> {path}'\n"


def told_in(path: Path) -> list[dict[str, str]]:
    """The messages that `command_into` has appended to the file at `path`."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [dict(zip(FIELDS, line.split("|"), strict=True)) for line in lines]


def write_settings(text: str) -> Path:
    """Write a user's alerts.toml; returns its path."""
    path = alert_settings_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return path


@contextmanager
def looping() -> Iterator[tuple[subprocess.Popen[bytes], Run]]:
    """A loop that publishes, and its run."""
    known = set(list_runs())
    process = subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE)
    try:
        (run,) = wait_for(lambda: set(list_runs()) - known)
        yield process, run
    finally:
        process.kill()
        process.communicate()
