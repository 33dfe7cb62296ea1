"""`operant train --processes`: one command, several ranks on this machine."""

from __future__ import annotations

import os
import signal

import pytest
from command_line import PATIENCE_S, error_line, operant, operant_process
from launched_ranks import FOR_EVER, SMALL, has_trained, rank_pids, the_run, training
from waiting import wait_for

from operant.shared.processes.lock import lock_holder
from operant.shared.runs.status import read_status
from operant.trainer.experiment.checkpoints import latest_checkpoint


def test_a_run_of_two_goes_on_with_another_split_and_leaves_a_log_of_each():
    done = operant_process("train", *SMALL, "--set", "total_env_steps=384", "--processes", "2")
    assert done.returncode == 0, done.stderr
    run = the_run()
    assert read_status(run).state == "finished"
    done = operant_process("train", "--resume", "small", "--set", "total_env_steps=768",
                   "--processes", "2", "--split", "2:1")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert latest_checkpoint(run.checkpoint_folder).iteration == 4
    assert run.console_path(1).read_text() == ""
    assert not rank_pids()


def test_ctrl_c_leaves_nothing_running():
    with training(*SMALL, *FOR_EVER, "--processes", "2") as process:
        wait_for(lambda: has_trained(the_run()))
        assert len(rank_pids()) == 1
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(PATIENCE_S) == 130
        wait_for(lambda: not rank_pids())
    run = the_run()
    status = read_status(run)
    assert status.state == "stopped"
    assert latest_checkpoint(run.checkpoint_folder).iteration == status.iteration


@pytest.mark.usefixtures("kill_runs")
def test_a_run_in_the_background_stops_as_one():
    done = operant("train", *SMALL, *FOR_EVER, "--processes", "2", "--detach")
    assert done.returncode == 0, done.stderr
    assert len(rank_pids()) == 1
    stopped = operant("stop", "small")
    assert stopped.returncode == 0, stopped.stderr
    wait_for(lambda: not rank_pids())
    status = read_status(the_run())
    assert (status.state, status.message) == ("stopped", "by operant stop")
    assert lock_holder(the_run().lock_path) is None


def test_a_rank_that_dies_before_they_meet_ends_all_with_one_line():
    with training(*SMALL, *FOR_EVER, "--processes", "2") as process:
        (pid,) = wait_for(rank_pids)
        os.kill(pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    told = "rank 1 (this machine) ended before the ranks had met: SIGKILL ended it"
    settings, *rest = errors.splitlines()
    assert settings.startswith("operant: started ppo on cart_pole: ")
    assert rest == [told]
    status = read_status(the_run())
    assert (status.state, status.message) == ("failed", told)


def test_a_stop_before_they_meet_is_a_stop():
    with training(*SMALL, *FOR_EVER, "--processes", "2") as process:
        (pid,) = wait_for(rank_pids)
        os.kill(pid, signal.SIGSTOP)  # it never comes
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 143
        wait_for(lambda: not rank_pids())
    assert read_status(the_run()).state == "stopped"


def test_what_a_rank_says_as_it_fails_is_shown(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\nif 'rank' in sys.orig_argv:\n"
        "    print('no such memory', file=sys.stderr, flush=True)\n    os._exit(3)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    done = operant_process("train", *SMALL, "--processes", "2")
    assert done.returncode == 1
    settings, first, second, *rest = done.stderr.splitlines()
    assert settings.startswith("operant: started ppo on cart_pole: ")
    assert first == "rank 1 (this machine) ended before the ranks had met: no such memory"
    assert second == f"operant: rank 1 (this machine), {the_run().console_path(1)} ends:"
    assert rest == ["  no such memory"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--processes", "0"), "--processes 0 is not a number of processes"),
        (("--processes", "2", "--split", "1:1:1"), "is for 3 ranks, and there are 2"),
        (("--processes", "7", "--set", "num_envs=6"), "is too few for 7 ranks"),
        (("--processes", "1", "--split", "1"), "there is one process"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_nothing(arguments, told, operant_home):
    assert told in error_line("train", *SMALL, *arguments)
    assert not list(operant_home.rglob("run.toml"))
    assert not rank_pids()


def test_torchruns_ranks_start_no_others(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert "this is rank 1 of 2 already" in error_line("train", *SMALL, "--processes", "2")


def test_a_rank_is_nothing_to_call_by_hand():
    assert "is started by `operant train" in error_line("rank", code=1)
