"""`operant train --elastic`: a run that loses a rank goes on by itself."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import sys
from pathlib import Path

import pytest
from command_line import PATIENCE_S, error_line
from launched_ranks import FOR_EVER, SMALL, has_trained, rank_pids, the_run, training
from waiting import wait_for

from operant.commands.ranks import elastic
from operant.commands.ranks.launch import Launch, launch_of
from operant.shared.runs.ranks import read_status
from operant.shared.runs.run_folder import create_run
from operant.trainer.config.files import load_config
from operant.trainer.experiment.checkpoints import latest_checkpoint

ROOT = Path(__file__).parents[3]
# Machines that are reached, but for mini while the file is there.
SSH = """#!/bin/sh
case "$*" in *mini*) [ -e {down} ];; *) false;; esac && echo "no route to host" >&2 && exit 255
for last; do :; done
exec sh -c "$last"
"""
SAVES = ("--set", "checkpoint.every_iterations=20")


def newest() -> int:
    return latest_checkpoint(the_run().checkpoint_folder).iteration


def goes_on(iteration: int, num_ranks: int) -> None:
    """Wait until the run has a newer checkpoint, with so many ranks besides rank 0."""
    wait_for(lambda: read_status(the_run()).state == "running" and newest() > iteration)
    assert len(rank_pids()) == num_ranks


@pytest.mark.slow
def test_a_rank_that_is_killed_is_started_again_and_a_stop_is_a_stop():
    settings = [*FOR_EVER[:2], *SAVES]
    with training(*SMALL, *settings, "--processes", "2", "--elastic") as process:
        wait_for(lambda: has_trained(the_run()))
        for _ in range(2):
            (rank,) = rank_pids()
            os.kill(rank, signal.SIGKILL)
            wait_for(lambda: rank_pids() not in ([], [rank]))  # noqa: B023
            goes_on(newest(), 1)
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE_S)
        wait_for(lambda: not rank_pids())
    assert process.returncode == 143, errors
    assert read_status(the_run()).state == "stopped"
    assert errors.count("goes on after iteration") == 2


@pytest.mark.slow
def test_a_machine_that_is_lost_is_left_out_and_taken_back_once_it_answers(tmp_path, monkeypatch):
    down, ssh = tmp_path / "down", tmp_path / "ssh"
    ssh.write_text(SSH.format(down=shlex.quote(str(down))))
    ssh.chmod(0o755)
    monkeypatch.setenv("OPERANT_SSH", str(ssh))
    monkeypatch.setenv("OPERANT_REMOTE", shlex.join([sys.executable, "-m", "operant"]))
    monkeypatch.setenv("OPERANT_ASK_AGAIN_S", "1")
    nodes = ("--nodes", "localhost,mini,air", "--split", "3:2:1", "--elastic")
    with training(*SMALL, *FOR_EVER[:2], *SAVES, *nodes) as process:
        wait_for(lambda: has_trained(the_run()))
        down.touch()
        os.kill(rank_pids()[0], signal.SIGKILL)
        wait_for(lambda: read_status(the_run()).state != "running")
        goes_on(newest(), 1)
        down.unlink()
        wait_for(lambda: len(the_run().manifest()["resumed"]) == 2)
        goes_on(newest(), 2)
        process.terminate()
        _, errors = process.communicate(timeout=PATIENCE_S)
        wait_for(lambda: not rank_pids())
    assert process.returncode == 143, errors
    assert "mini is left out: cannot reach mini: no route to host" in errors


def test_who_is_left_out_has_no_part_of_the_split():
    launch = launch_of("2", "air,localhost,mini", "1:2:3:4:5:6", is_elastic=True)
    assert launch is not None
    launch._leave_out([node for node in launch.nodes if node.name == "mini"])
    assert (launch.split, launch.world_size) == ("3:4:5:6", 4)
    assert [node.name for node in launch.left_out] == ["air"]
    assert launch.again() == [
        "--processes", "2", "--nodes", "air,localhost,mini", "--split", "1:2:3:4:5:6",
    ]  # fmt: skip


@pytest.mark.slow
def test_what_fails_time_and_again_without_getting_further_ends():
    with training(*SMALL, *FOR_EVER, "--processes", "2", "--elastic") as process:
        for _ in range(5):  # the first loss leaves a checkpoint that was not there before
            (rank,) = wait_for(rank_pids)
            wait_for(lambda: has_trained(the_run()) and rank in rank_pids())  # noqa: B023
            os.kill(rank, signal.SIGKILL)
            wait_for(lambda: rank not in rank_pids())  # noqa: B023
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert errors.count("goes on after iteration") == 4


@pytest.mark.parametrize(
    ("stop_signals", "takes_back", "goes"),
    [([], False, True), ([signal.SIGINT], False, False), ([signal.SIGTERM], True, True),
     ([signal.SIGTERM, signal.SIGINT], True, False)],
)  # fmt: skip
def test_a_run_that_was_to_stop_does_not_go_on(monkeypatch, stop_signals, takes_back, goes):
    started = []
    monkeypatch.setattr(os, "execv", lambda *told: started.append(told))
    monkeypatch.setattr(elastic, "_newest", lambda _: 3)
    monkeypatch.setenv(elastic.IN_VAIN, "0")
    launch = launch_of("2", None, "", is_elastic=True)
    run, lock = create_run("test", {}, rank=0)
    ended = elastic.Elastic(launch, run, load_config("cart_pole_ppo"), stop_signals)
    ended._takes_back = takes_back
    ended.go_on(143 if takes_back else 1)
    lock.release()
    assert bool(started) == goes


@pytest.mark.parametrize("seconds", ["abc", "0", "nan", "1e9"])
def test_how_often_machines_are_asked_again_is_checked_before_there_is_a_run(monkeypatch, seconds):
    monkeypatch.setenv("OPERANT_ASK_AGAIN_S", seconds)
    line = error_line("train", "cart_pole_ppo", "--elastic", "--processes", "2")
    assert f"OPERANT_ASK_AGAIN_S = {seconds} is not a number of seconds" in line


@pytest.mark.parametrize(
    "options", [[], ["--split", "auto"], ["--processes", "1"], ["--nodes", "localhost"]]
)
def test_one_process_alone_has_nobody_to_lose(options):
    line = error_line("train", "cart_pole_ppo", "--elastic", *options)
    assert "--elastic is for several ranks" in line


def test_a_launch_is_told_whole(tmp_path):
    launch = launch_of(None, "localhost,mini", "auto", is_elastic=True)
    assert launch is not None
    launch.check = lambda config: None  # type: ignore[method-assign]
    launch.listener = socket.create_server(("127.0.0.1", 0))
    told = Launch.of_argument(launch.as_argument())
    assert (told.nodes, told.asked, told.is_elastic) == (launch.nodes, launch.asked, True)
    told.listener = None
    launch.listener.detach()
