"""Several processes of one run are put together as sums, spread and the slowest."""

from __future__ import annotations

import math
import signal
import subprocess
import sys

import pytest
from waiting import wait_for

from operant.monitor.runs.reading.run_poller import RunPoller
from operant.shared.processes.lock import RunLock
from operant.shared.runs.ranks import combined_status, read_status, slowest_rank, spread
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import RunStatus

SPEED = "speed/env_steps_per_s"

# One rank: publishes its speed and 100 env steps until it is killed or told to finish.
RANK = """
import sys, time
from operant.shared.processes.lock import RunLock
from operant.shared.runs.run_folder import Run
from operant.shared.runs.session import RunSession
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


@pytest.fixture
def whole_run():
    """(run, sessions) of three ranks that learn as one; rank 2 is on another machine."""
    run, lock = create_run("whole", {}, rank=0)
    sessions = [
        RunSession(run, lock if rank == 0 else RunLock(run.lock_path, rank), rank=rank,
                   publish_interval_s=100.0, world_size=3, is_whole=rank == 0, recorder=None,
                   host="air" if rank == 2 else "")
        for rank in range(3)
    ]  # fmt: skip
    for rank, session in enumerate(sessions):
        share = {"rank/num_envs": 30.0 - 10 * rank, "rank/env_steps_per_s": 300.0 - 100 * rank}
        waiting = {"rank/waiting_fraction": [0.3, 0.2, 0.1][rank], "time/learn_s": float(rank)}
        first = {"episode/return": 7.0, SPEED: 599.0} if rank == 0 else {}
        session.metrics.publish(first | share | waiting, 5 - rank, 600 - 100 * rank)
    yield run, sessions
    for session in sessions:
        session.close("stopped", 0)


def test_ranks_that_learn_as_one_have_shares_of_what_rank_0_counts(whole_run):
    run, _ = whole_run
    status = read_status(run)
    assert (status.iteration, status.env_steps, status.env_steps_per_s) == (5, 600, 599.0)
    assert status.metrics["episode/return"] == 7.0  # which rank 0 alone knows
    assert status.metrics["rank/num_envs"] == 60
    assert status.metrics["rank/env_steps_per_s"] == 600
    assert status.metrics["time/learn_s"] == 1.0
    assert [rank.env_steps_per_s for rank in status.ranks] == [300, 200, 100]
    assert status.ranks[2].host == "air"
    assert status.host == ""
    slowest = slowest_rank(status.ranks)
    assert slowest is not None
    assert slowest.rank == 2
    assert [rank["rank"] for rank in status.as_json()["ranks"]] == [0, 1, 2]


def test_where_ranks_learn_as_one_the_run_has_ended_once_rank_0_has(whole_run):
    run, sessions = whole_run
    sessions[1].lose()
    status = read_status(run)
    assert (status.state, status.message) == (
        "crashed", "rank 1: the process is gone without a last word",
    )  # fmt: skip
    sessions[0].close("failed", 1, "rank 1 is gone")
    status = read_status(run)
    assert (status.state, status.message) == ("failed", "rank 1 is gone")
    assert [rank.state for rank in status.ranks] == ["failed", "crashed", "running"]


def test_the_monitor_draws_the_charts_of_the_rank_that_is_asked_for(whole_run):
    run, _ = whole_run
    poller = RunPoller(run)
    assert (poller.poll().rank, poller.poll().history.env_steps.tolist()) == (0, [600])
    assert poller.show_rank(2)
    view = poller.poll()
    assert (view.rank, view.history.env_steps.tolist()) == (2, [400])
    assert (view.status.env_steps, len(view.status.ranks)) == (600, 3)
    poller.show_rank(0)
    assert poller.poll().rank == 0
    poller.close()


def test_a_run_that_goes_on_alone_has_no_other_ranks(whole_run):
    run, sessions = whole_run
    for session in sessions:
        session.close("stopped", 0)
    run.forget_other_ranks()
    assert run.ranks() == [0]
    assert read_status(run).ranks == ()


def test_without_a_word_on_waiting_the_slowest_has_the_lowest_speed():
    ranks = [RunStatus("r", "running", env_steps_per_s=speed) for speed in (5.0, 3.0, 4.0)]
    assert slowest_rank(ranks) is ranks[1]
    assert slowest_rank(ranks[:1]) is None
