"""Another program truncates the page of a process that lives: it trains on, and says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_for

from operant.shared import Metric, MetricsReader, MetricsWriter
from operant.shared.find_runs import list_runs
from operant.shared.rank_place import page_path
from operant.shared.ranks import read_status
from operant.shared.row_file_reader import RowFileReader
from operant.shared.run_folder import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the handler is for Linux")

# Publishes 200 times a second until a file `stop` lies in the run's folder.
PUBLISHER = """
import time
from operant.shared import Metric
from operant.shared.run_folder import create_run
from operant.shared.session import RunSession
run, lock = create_run("test", {}, rank=0)
session = RunSession(run, lock, [Metric("a", "m", description="counts")], publish_interval_s=0.05)
session.metrics.event("info", "it began")
session.metrics.phase("collecting")
number = 0
while not (run.folder / "stop").exists():
    number += 1
    session.metrics.publish({"a": number}, number, 8 * number)
    time.sleep(0.005)
session.close("finished", 0)
"""


class Publisher:
    """A process that publishes, with its recorder."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", PUBLISHER])
        wait_for(list_runs)
        (self.run,) = list_runs()
        self.page = page_path(self.run, 0)
        self.wait_for_publishes(20)

    def wait_for_publishes(self, more: int) -> None:
        before = read_status(self.run).iteration or 0

        def is_there() -> bool:
            assert self.process.poll() is None, f"it exited: {self.process.returncode}"
            return (read_status(self.run).iteration or 0) >= before + more

        wait_for(is_there)

    def stop(self) -> None:
        (self.run.folder / "stop").touch()
        assert self.process.wait(600) == 0

    def events(self) -> list[str]:
        return self.run.events_path.read_text().splitlines()

    def recorded(self) -> list[int]:
        """The publish numbers in the file of rows."""
        return recorded_publishes(self.run)


def recorded_publishes(run: Run) -> list[int]:
    path = run.rows_path(0)
    if not path.exists():
        return []
    raise NotImplementedError


@pytest.fixture
def publisher(operant_home, operant_pages):
    publisher = Publisher()
    yield publisher
    if publisher.process.poll() is None:
        publisher.process.kill()
        publisher.process.wait()
