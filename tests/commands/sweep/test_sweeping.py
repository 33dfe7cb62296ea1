"""Sweeps of real runs: what they find, what they outlive, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import signal

import pytest
from command_line import operant, operant_json
from sweeping import BASE, RATE, start_sweep, trial_of
from waiting import wait_for

from operant.monitor.export.frame import columns_of
from operant.monitor.runs.list.filter_terms import parse_filter
from operant.monitor.runs.list.run_filter import filtered
from operant.monitor.runs.list.runs_poller import RunsPoller
from operant.shared.errors import OperantError
from operant.shared.processes.lock import TRAINER, lock_holder
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run, runs_folder
from operant.shared.runs.status import read_status
from operant.shared.runs.sweep_folder import Sweep, find_sweep, list_sweeps, sweeps_folder


@pytest.fixture
def started():
    """Sweepers and trainers that no test leaves behind."""
    processes = []

    def start(*arguments):
        processes.append(start_sweep(*arguments))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()
    for run in list_runs():
        holder = lock_holder(run.lock_path)
        if holder and holder.pid:
            os.kill(holder.pid, signal.SIGKILL)


def found_run(trial, place=0):
    return Run(runs_folder() / trial.runs[place])


def trainer_pid(trial):
    """The trainer of a trial's first run, once it has published an iteration."""
    run = found_run(trial)
    wait_for(lambda: (read_status(run).iteration or 0) >= 1)
    return wait_for(lambda: lock_holder(run.lock_path, TRAINER)).pid


def test_trials_are_runs_and_a_killed_one_fails_alone(started):
    # Trial 0 never ends by itself. Trial 1 draws its rate, trial 2 comes by hand.
    budget = "total_env_steps=4096,1e12"
    process = started(
        *BASE, "--param", RATE, "--param", budget, "--trials", "2", "--seeds", "2", "--parallel",
        "2", "--try", "total_env_steps=1e12", "--try", "total_env_steps=4096", "--objective",
        "evaluation/return", "--objective", "seconds", "--name", "search", "--json",
    )  # fmt: skip
    sweep = Sweep(sweeps_folder() / "search")
    endless = wait_for(lambda: (t := trial_of(sweep, 0)) and len(t.runs) == 2 and t)
    pid = trainer_pid(endless)
    values = "ppo.learning_rate=0.002,total_env_steps=4096"
    resumed = operant("sweep", "--resume", "search", "--try", values)
    assert resumed.stdout == f"search runs already, and tries {values} next\n", resumed.stderr
    os.kill(pid, signal.SIGKILL)
    out, err = process.communicate()
    assert process.returncode == 0, err
    answer = json.loads(out)

    assert [trial["state"] for trial in answer["trials"]] == ["failed", "finished", "finished"]
    assert "it was killed by SIGKILL" in answer["trials"][0]["message"]
    # The other seed of the failed trial was ended in good order.
    assert read_status(found_run(endless, 1)).state == "stopped"
    assert answer["trials"][2]["values"]["ppo.learning_rate"] == 0.002
    assert any(trial["is_best"] for trial in answer["trials"])
    for trial in answer["trials"][1:]:
        runs = [Run(runs_folder() / run) for run in trial["runs"]]
        columns = [columns_of(run, {"evaluation/return"}) for run in runs]
        finals = [column["evaluation/return"][-1] for column in columns]
        assert trial["scores"][0] == pytest.approx(sum(finals) / 2)
        assert trial["scores"][1] > 0
        manifests = [run.manifest() for run in runs]
        assert [m["seed"] for m in manifests] == [1, 2]
        assert (
            manifests[0]["config"]["ppo"]["learning_rate"] == trial["values"]["ppo.learning_rate"]
        )

    rows = RunsPoller().poll().rows
    assert len(filtered(rows, parse_filter("sweep:search"))) == 6
    assert {row.run.id for row in filtered(rows, parse_filter("trial:2"))} == {
        *answer["trials"][2]["runs"]
    }
    assert operant_json("status", "search") == answer
    lines = operant("status", "search").stdout.splitlines()
    assert lines[0].startswith("search: finished, 3 of 3 trials, 1 failed; ")
    assert "★" in lines[2]


def test_a_sweep_outlives_its_sweeper_and_goes_on_from_checkpoints(started):
    started_with = started(
        *BASE, "--set", "total_env_steps=300000", "--param", RATE, "--trials", "1", "--name", "one"
    )
    sweep = Sweep(sweeps_folder() / "one")
    trial = wait_for(lambda: (t := trial_of(sweep, 0)) and t.runs and t)
    pid = trainer_pid(trial)
    os.kill(pid, signal.SIGSTOP)  # it is to be alive whenever it is looked for
    started_with.kill()
    started_with.wait()
    assert sweep.state(sweep.table()) == "interrupted"

    # The next one takes the run over.
    before_ns = sweep.table_path.stat().st_mtime_ns
    second = started("sweep", "--resume", "one")
    wait_for(lambda: sweep.table_path.stat().st_mtime_ns != before_ns)
    assert sweep.is_held()
    third = operant("sweep", "--resume", "one")
    assert "sweep one is running already" in third.stderr
    second.send_signal(signal.SIGINT)
    # Asked to stop before it can do anything: a signal that waits for it.
    wait_for(lambda: _waits_for(pid, signal.SIGTERM))
    os.kill(pid, signal.SIGCONT)
    out, err = second.communicate()
    assert second.returncode == 130, err
    assert (
        out.splitlines()[-1] == "sweep one: stopped by SIGINT; `operant sweep --resume one` goes on"
    )
    assert read_status(found_run(trial)).state == "stopped"
    assert trial_of(sweep, 0).state == "running"  # as far as anyone can tell

    answer = operant_json("sweep", "--resume", "one", "--trials", "1")
    (ended,) = answer["trials"]
    assert ended["state"] == "finished"
    assert ended["runs"] == list(trial.runs)
    assert len(found_run(trial).manifest()["resumed"]) == 1
    assert answer["state"] == "finished"
    assert [run.id for run in list_runs()] == list(trial.runs)


def test_ctrl_c_at_any_moment_says_what_happened_and_how_to_go_on(started, monkeypatch):
    """Before the sweep has a name, before it waits for its runs, and once more while it does."""
    from operant.commands.sweep import begin

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def interrupt_again(*_, **__):
        raise SystemExit(130)

    def error_of(**changed):
        with monkeypatch.context() as changes:
            for name, function in changed.items():
                changes.setattr(begin, name, function)
            arguments = ["cart_pole_ppo", "--param", RATE, "--trials", "1", "--name", "two"]
            with pytest.raises(OperantError) as caught:
                begin.command(arguments, standalone_mode=False)
        assert caught.value.exit_code == 130
        return str(caught.value)

    assert error_of(_begun=interrupt) == "interrupted before the sweep began"
    assert "`operant sweep --resume two` goes on" in error_of(_run=interrupt)
    shutil.rmtree(sweeps_folder() / "two")
    assert "its runs were asked to stop" in error_of(_run=interrupt_again)


def test_a_trial_that_is_worse_than_the_others_is_stopped_in_good_order(started, tmp_path):
    # What learns nothing, and would never end, against what does.
    config = tmp_path / "mine.toml"
    config.write_text(
        'env = "cart_pole"\nalgorithm = "ppo"\nnum_envs = 8\nnum_threads = 1\n'
        "total_env_steps = 40960\n[evaluation]\nnum_episodes = 0\n"
    )
    process = started(
        "sweep", str(config), "--param", "ppo.learning_rate=log:1e-9:1e-2",
        "--param", "total_env_steps=40960,1e12", "--trials", "2",
        "--try", "ppo.learning_rate=3e-3,total_env_steps=40960",
        "--try", "ppo.learning_rate=1e-9,total_env_steps=1e12", "--prune-after", "1",
    )  # fmt: skip
    out, err = process.communicate()
    assert process.returncode == 0, err
    (sweep,) = list_sweeps()
    table = sweep.table()
    assert [trial.state for trial in table.trials] == ["finished", "pruned"]
    pruned = read_status(found_run(table.trials[1]))
    said = f"pruned by sweep {sweep.name}: worse than the median of the others"
    assert (pruned.state, pruned.message) == ("stopped", said)
    assert table.trials[1].scores[0] < table.trials[0].scores[0]
    assert "trial 1: pruned: worse than the median" in out


def _waits_for(pid, number):
    """Whether a signal waits for a process that is stopped."""
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["ShdPnd"], 16) >> (number - 1) & 1


def test_a_detached_sweep_is_listed_and_stopped_and_goes_on():
    settings = (*BASE[1:], "--set", "total_env_steps=1000000000", "--param", RATE, "--trials", "2")
    answer = operant(
        "sweep", *settings, "--name", "detached", "--detach", "--try", f"{RATE[:17]}=3e-4"
    )
    assert answer.returncode == 0, answer.stderr
    assert "operant stop detached" in answer.stdout
    sweep = find_sweep("detached")
    try:
        trial = wait_for(lambda: (found := trial_of(sweep, 0)) and found.runs and found)
        assert trial.values == {"ppo.learning_rate": 3e-4}
        trainer_pid(trial)
        assert "running, 0 of 2 trials" in operant("runs", "--sweeps").stdout
        (listed,) = json.loads(operant("runs", "--sweeps", "--json").stdout)
        assert (listed["name"], listed["is_running"]) == ("detached", True)
        stopped = operant("stop", "detached")
        assert stopped.returncode == 0, stopped.stderr
        assert "detached: interrupted" in stopped.stdout
        assert not sweep.is_held()
        assert read_status(found_run(trial)).state == "stopped"
        assert "stopped by SIGTERM" in sweep.log_path.read_text()
        assert "is not running" in operant("stop", "detached").stdout
        assert operant("sweep", "--resume", "detached", "--detach").returncode == 0
        assert wait_for(sweep.is_held)
    finally:
        operant("stop", "detached")
