"""Runs that have ended, and files that belong to somebody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession

SOMEONE = 12345


def give_away(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs the right to give a file away")
    os.chown(path, SOMEONE, SOMEONE)


def ended_run(name: str = "test") -> Run:
    run, lock = create_run(name, {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"loss": 0.5}, 3, 30)
    session.close("finished", 0)
    return run
