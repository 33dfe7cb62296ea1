"""`operant train` as one of several ranks."""

from __future__ import annotations

import math
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import operant
from rank_processes import TIMEOUT_S, rank_environ, said, started, training, wait_for_all
from waiting import wait_for

from operant.shared.runs.find_runs import find_run
from operant.shared.runs.status import read_status
from operant.trainer.experiment.checkpoints import latest_checkpoint, list_checkpoints

SMALL = (
    "cart_pole_ppo", "--name", "small", "--set", "num_envs=6", "--set", "rollout_steps=32",
    "--set", "policy.hidden_sizes=[16]", "--set", "evaluation.num_episodes=2",
)  # fmt: skip
FOR_EVER = (
    "--set",
    "total_env_steps=1000000000000",
    "--set",
    "checkpoint.every_iterations=99999",
)


def test_torchrun_starts_a_run_that_goes_on_with_any_number_of_ranks(tmp_path):
    steps = ("--set", "total_env_steps=1920")
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    command = [*torchrun, *training(*SMALL, *steps)]
    with started([command], tmp_path) as processes:
        assert wait_for_all(processes) == [0], said(tmp_path, 0)
    run = find_run("small")
    status = read_status(run)
    assert (status.state, status.iteration, status.env_steps) == ("finished", 10, 1920)
    events = said(tmp_path, 0)
    assert events.count("Traceback") == 0

    more = training("--resume", "small", "--set", "total_env_steps=3840")
    with started([[*more, "--split", "3:2:1"]] * 3, tmp_path) as processes:
        assert wait_for_all(processes) == [0] * 3, said(tmp_path, 0)
    assert said(tmp_path, 1) == said(tmp_path, 2) == ""
    assert latest_checkpoint(run.checkpoint_folder).iteration == 20

    with started([training("--resume", "small", "--set", "total_env_steps=5760")], tmp_path) as (
        process,
    ):
        assert wait_for_all([process]) == [0], said(tmp_path, 0)
    assert latest_checkpoint(run.checkpoint_folder).iteration == 30


def wait_until_it_trains(processes, folder: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        assert all(process.poll() is None for process in processes), said(folder, 0)
        try:
            trains = (read_status(find_run("small")).iteration or 0) >= 2
            # It is written while training goes on.
            if trains and list_checkpoints(find_run("small").checkpoint_folder):
                return
        except Exception:  # there is no run yet
            pass
        time.sleep(0.05)
    raise AssertionError(said(folder, 0))


@pytest.mark.parametrize(("number", "victim"), [(signal.SIGKILL, 0), (signal.SIGSTOP, 1)])
def test_a_rank_that_is_lost_ends_the_others_with_one_line(tmp_path, number, victim):
    with started([training(*SMALL, *FOR_EVER)] * 2, tmp_path) as processes:
        wait_until_it_trains(processes, tmp_path)
        processes[victim].send_signal(number)
        begun = time.monotonic()
        assert processes[1 - victim].wait(60) == 1
        assert time.monotonic() - begun < 10
    lines = [line for line in said(tmp_path, 1 - victim).splitlines() if "is gone" in line]
    assert f"rank {victim} (" in lines[0]
    if victim:
        status = read_status(find_run("small"))
        assert (status.state, status.message) == ("failed", lines[0])
    else:
        assert said(tmp_path, 1).splitlines() == lines
    assert latest_checkpoint(find_run("small").checkpoint_folder).iteration == 1


def test_a_stop_of_any_rank_stops_all_with_a_checkpoint(tmp_path):
    with started([training(*SMALL, *FOR_EVER)] * 2, tmp_path) as processes:
        wait_until_it_trains(processes, tmp_path)
        processes[1].send_signal(signal.SIGTERM)
        assert wait_for_all(processes) == [143, 143]
    run = find_run("small")
    status = read_status(run)
    assert (status.state, status.message) == ("stopped", "by another rank")
    assert latest_checkpoint(run.checkpoint_folder).iteration == status.iteration


def test_the_page_of_rank_0_has_what_every_rank_does(tmp_path):
    command = training(*SMALL, *FOR_EVER, "--split", "3:2:1")
    with started([command] * 3, tmp_path) as processes:
        wait_until_it_trains(processes, tmp_path)
        run = find_run("small")
        wait_for(lambda: read_status(run).metrics.get("rank/2/wait_s", math.nan) > 0)
        status = read_status(run)
        assert [status.metrics[f"rank/{rank}/num_envs"] for rank in range(3)] == [3, 2, 1]
        speeds = [status.metrics[f"rank/{rank}/env_steps_per_s"] for rank in range(3)]
        assert speeds[0] == pytest.approx(3 * speeds[2])
        assert status.metrics.keys() >= {"episode/return", "loss/policy", "time/all_reduce_s"}
        assert operant("stop", "small").returncode == 0
        assert wait_for_all(processes) == [143, 0, 0]
    assert said(tmp_path, 1) == said(tmp_path, 2) == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--split", "1:1:1"), "split = 1:1:1 is for 3 ranks, and there are 2"),
        (("--set", "num_envs=1"), "num_envs = 1 is too few for 2 ranks"),
        (("--set", "compile=true"), "compile = true does not go with several ranks yet"),
        (("--detach",), "of several ranks each trains where it is started"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(tmp_path, operant_home, arguments, told):
    with started([training(*SMALL, *arguments)] * 2, tmp_path) as processes:
        assert wait_for_all(processes) == [2, 2]
    for rank in range(2):
        (line,) = said(tmp_path, rank).splitlines()
        assert told in line
    assert not list(operant_home.rglob("run.toml"))


def test_a_port_that_is_in_use_is_one_line(tmp_path):
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [sys.executable, *training(*SMALL)], env=rank_environ(0, 2, port),
            capture_output=True, text=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    assert done.returncode == 1
    expected = f"rank 0 cannot listen at 127.0.0.1 port {port}: it is in use"
    settings, *others = done.stderr.splitlines()
    assert settings.startswith("operant: started ppo on cart_pole: ")
    assert others == [expected]
