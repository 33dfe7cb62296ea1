"""Several processes of one run are put together as sums, spread and the slowest."""

from __future__ import annotations

import math
import signal
import subprocess
import sys

import pytest
from waiting import wait_for

from operant.monitor.runs.run_poller import RunPoller
from operant.shared.ranks import combined_status, read_status, spread
from operant.shared.run_folder import Run, create_run
from operant.shared.status import RunStatus

SPEED = "speed/env_steps_per_s"

# One rank: publishes its speed and 100 env steps until it is killed or told to finish.
RANK = """
import sys, time
from operant.shared.lock import RunLock
from operant.shared.run_folder import Run
from operant.shared.session import RunSession
from pathlib import Path
run, rank = Run(Path(sys.argv[1])), int(sys.argv[2])
lock = RunLock(run.lock_path, rank)
session = RunSession(run, lock, publish_interval_s=60.0, rank=rank, world_size=2)
values = {"speed/env_steps_per_s": 1000.0 * (rank + 1), "loss": float(rank)}
session.metrics.publish(values, 7 - rank, 100)
sys.stdin.readline()
session.close("finished", 0)
"""


@pytest.fixture
def two_ranks():
    """(run, [process of rank 0, of rank 1]), both of which have published."""
    run, lock = create_run("ranks", {}, rank=5)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(run.folder), str(rank)], stdin=subprocess.PIPE
        )
        for rank in (0, 1)
    ]
    wait_for(lambda: run.ranks() == [0, 1] and all(r.iteration for r in read_status(run).ranks))
    lock.release()
    yield run, processes
    for process in processes:
        process.kill()
        process.communicate()


def test_two_processes_are_summed_and_the_slowest_is_named(two_ranks: tuple[Run, list]):
    run, _ = two_ranks
    status = read_status(run)
    assert status.state == "running"
    assert status.env_steps == 200
    assert status.env_steps_per_s == 3000.0 == status.metrics[SPEED]
    assert status.iteration == 6  # rank 1 is one behind
    assert status.metrics["loss"] == 0.5
    assert spread(status.ranks, SPEED) == (3000.0, 1500.0, 1000.0, 2000.0, 0)
    assert [rank["env_steps"] for rank in status.as_json()["ranks"]] == [100, 100]


def test_one_dead_rank_is_a_crashed_run_until_nobody_is_left(two_ranks: tuple[Run, list]):
    run, (first, second) = two_ranks
    second.send_signal(signal.SIGKILL)
    second.wait()
    status = read_status(run)
    assert status.state == "crashed"
    assert [rank.state for rank in status.ranks] == ["running", "crashed"]
    first.communicate(b"\n")
    assert [rank.state for rank in read_status(run).ranks] == ["finished", "crashed"]


def test_both_finished_is_a_finished_run(two_ranks: tuple[Run, list]):
    run, processes = two_ranks
    for process in processes:
        process.communicate(b"\n")
    assert read_status(run).state == "finished"
    assert read_status(run).env_steps == 200


def test_the_monitor_shows_the_sums(two_ranks: tuple[Run, list]):
    run, _ = two_ranks
    poller = RunPoller(run)
    view = poller.poll()
    poller.close()
    assert view.status.env_steps_per_s == 3000.0
    assert len(view.status.ranks) == 2


def test_a_single_rank_is_its_own_status():
    run, _ = create_run("single", {}, rank=0)
    only = RunStatus(run.id, "running", env_steps=3)
    assert combined_status(run, [only]) is only
    assert "ranks" not in only.as_json()


def test_the_spread_of_what_no_rank_wrote_is_unknown():
    ranks = [RunStatus("r", "running"), RunStatus("r", "running", metrics={"a": math.nan})]
    assert math.isnan(spread(ranks, "a").total)


def test_the_worst_state_is_the_runs_and_its_reason_names_the_rank():
    run, _ = create_run("worst", {}, rank=0)
    ranks = [
        RunStatus("r", "stopped"),
        RunStatus("r", "failed", message="out of memory"),
        RunStatus("r", "running", iteration=4),
    ]
    status = combined_status(run, ranks)
    assert (status.state, status.message) == ("failed", "rank 1: out of memory")
    assert status.env_steps is None
