"""A plugin of pytest: a line of JSON for each test that begins or ends, so that none is lost.

    TOLD_TESTS=FILE pytest -p told_tests ...

After an error of CUDA's own, which every later call in that process repeats, it ends the process:
whoever started it begins the others in a fresh one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from lasting import is_lasting

LAST_LINES = 12


def tell(**told: Any) -> None:
    with Path(os.environ["TOLD_TESTS"]).open("a") as file:
        file.write(json.dumps(told) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    tell(id=nodeid, outcome="began")


class Told:
    def __init__(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        if report.when == "teardown" and report.outcome == "skipped":
            return
        text = str(report.longreprtext or "")
        lines = text.splitlines()[-LAST_LINES:]
        why = {"why": "\n".join(lines)} if report.outcome != "passed" else {}
        tell(id=report.nodeid, outcome=report.outcome, seconds=round(report.duration, 3), **why)
        if report.outcome == "failed" and is_lasting(text):
            self.session.shouldstop = "an error of CUDA's, which does not go away"


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(Told(session))
