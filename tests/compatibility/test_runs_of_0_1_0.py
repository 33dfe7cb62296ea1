"""Runs that operant 0.1.0 left list, open, export, evaluate and go on; see tests/data/0.1.0."""

from __future__ import annotations

import math
import subprocess
import sys

import pandas as pd
import pytest
import torch
from command_line import error_line, operant, operant_json
from old_runs import names_of, unpack
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tinyphysics_files import write_model, write_routes

from operant.monitor.runs.reading.run_poller import RunPoller
from operant.shared.processes.lock import lock_holder
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import read_status

pytestmark = pytest.mark.slow

NAMES = names_of("0.1.0")
# Of each: state, iteration, env steps, publishes.
WERE = {
    "finished": ("finished", 98, 200_704, 98),
    "stopped": ("stopped", 55, 14_080, 55),
    "crashed": ("crashed", 50, 12_800, 50),
    "pendulum": ("stopped", 31, 31_744, 31),
    "tinyphysics": ("finished", 2, 3_200, 13),  # it publishes while it collects, too
    "own_loop_finished": ("finished", 300, 3_000, 300),
    "own_loop_killed": ("crashed", 299, 2_990, 299),  # row 300 was still open to more values
}


def test_every_archive_is_tested():
    assert sorted(WERE) == NAMES


def test_they_are_listed_with_their_states():
    states = {unpack(name).id: were[0] for name, were in WERE.items()}
    assert {run["run"]: run["state"] for run in operant_json("runs")} == states


@pytest.mark.parametrize("name", NAMES)
def test_status_and_the_report_show_what_they_had_reached(name):
    state, iteration, env_steps, _ = WERE[name]
    run = unpack(name)
    status = operant_json("status", run.id)
    assert (status["state"], status["iteration"], status["env_steps"]) == (
        state, iteration, env_steps,
    )  # fmt: skip
    report = operant("monitor", run.id, "--once")
    assert report.returncode == 0, report.stderr
    assert report.stdout.startswith(f"{run.id}\n  state")
    assert state in report.stdout.splitlines()[1]
    assert report.stderr == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_monitor_draws_all_that_they_published(name):
    run = unpack(name)
    poller = RunPoller(run)
    view = poller.poll()
    poller.close()
    assert view.publish == WERE[name][3]
    assert view.history.publish.tolist() == list(range(1, WERE[name][3] + 1))
    assert view.events
    assert {metric.name for metric in view.schema} == set(view.history.names)


def test_their_charts_hold_the_values_they_logged():
    poller = RunPoller(unpack("own_loop_finished"))
    view = poller.poll()
    poller.close()
    losses = view.history.series("loss/policy").mean
    assert losses.tolist() == [1 / step for step in range(1, 301)]
    returns = view.history.series("episode/return").mean
    assert [step for step in range(1, 301) if math.isnan(returns[step - 1])] == [100]
    assert [event.text for event in view.events][-1] == "note: two thirds"


def test_a_picture_is_drawn_of_one(tmp_path):
    done = operant("snapshot", unpack("finished").id, "--to", str(tmp_path / "run.svg"))
    assert done.returncode == 0, done.stderr
    assert "</svg>" in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize("name", ["finished", "crashed", "own_loop_finished", "own_loop_killed"])
def test_they_are_exported_as_csv(name, tmp_path):
    path = tmp_path / "run.csv"
    done = operant("export", unpack(name).id, "--to", "csv", "--output", str(path))
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(path)
    num_publishes = WERE[name][3]
    assert table["publish"].tolist() == list(range(1, num_publishes + 1))
    if name.startswith("own_loop"):
        assert table["env_steps"].tolist() == [10 * n for n in range(1, num_publishes + 1)]
        assert table["loss/policy"].tolist() == [1 / n for n in range(1, num_publishes + 1)]


def test_they_are_exported_for_tensorboard(tmp_path):
    folder = str(tmp_path / "out")
    run = unpack("own_loop_finished")
    done = operant("export", run.id, "--to", "tensorboard", "--output", folder)
    assert done.returncode == 0, done.stderr
    scalars = EventAccumulator(folder, size_guidance={"scalars": 0}).Reload().Scalars("loss/policy")
    assert [scalar.step for scalar in scalars] == [10 * n for n in range(1, 301)]


def test_a_trained_cart_pole_still_balances():
    unpack("finished")
    result = operant_json("eval", "--latest", "--episodes", "20")
    assert (result["min_return"], result["max_return"]) == (500.0, 500.0)


def test_a_pendulum_with_normalised_observations_still_swings_as_it_did():
    run = unpack("pendulum")
    result = operant_json("eval", run.id, "--episodes", "5")
    assert result["episodes"] == 5
    # Of the checkpoint's own iteration nothing was evaluated; 11 iterations before it was -1163.
    assert -1500 < result["mean_return"] < -800


@pytest.mark.parametrize("name", ["stopped", "crashed", "pendulum"])
def test_they_go_on_from_their_checkpoint(name):
    run = unpack(name)
    checkpoint = {"stopped": 55, "crashed": 40, "pendulum": 31}[name]
    per_iteration = WERE[name][2] // WERE[name][1]
    total = (checkpoint + 10) * per_iteration
    status = operant_json(
        "train", "--resume", run.id, "--set", f"total_env_steps={total}",
        "--set", "evaluation.num_episodes=0",
    )  # fmt: skip
    assert (status["run"], status["state"]) == (run.id, "finished")
    assert (status["iteration"], status["env_steps"]) == (checkpoint + 10, total)
    history = history_of(run)
    assert history.iteration.tolist() == list(range(1, checkpoint + 11))
    assert run.manifest()["resumed"][0]["iteration"] == checkpoint


def test_a_finished_run_goes_on_when_it_is_given_more_env_steps():
    run = unpack("finished")
    status = operant_json("train", "--resume", run.id, "--set", "total_env_steps=210_000")
    assert (status["state"], status["iteration"]) == ("finished", 103)  # ceil(210,000 / 2,048)


def test_tinyphysics_goes_on(tmp_path, monkeypatch):
    challenge = tmp_path / "challenge"
    write_model(challenge / "tinyphysics.onnx", num_blocks=1)
    write_routes(challenge / "data", 3, num_rows=510)
    monkeypatch.setenv("OPERANT_TINYPHYSICS", str(challenge))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = unpack("tinyphysics")
    evaluate = ("tinyphysics", "eval", "--engine", "onnxruntime", "--controller", run.id)
    assert len(operant_json(*evaluate)["per_route"]) == 3
    status = operant_json("train", "--resume", run.id, "--set", "total_env_steps=4800")
    assert (status["state"], status["iteration"]) == ("finished", 3)


GOES_ON = """
import operant
run = operant.init(id="job-1", resume="allow")
assert run.resumed, "a new run was begun"
for step in range(300, 321):
    operant.log({"loss/policy": 1 / step}, step=10 * step)
operant.finish()
"""


def test_a_loop_of_ones_own_goes_on():
    run = unpack("own_loop_killed")
    subprocess.run([sys.executable, "-c", GOES_ON], check=True, timeout=600)
    status = read_status(run)
    assert (status.state, status.env_steps) == ("finished", 3200)
    losses = history_of(run).series("loss/policy").mean.tolist()
    assert losses == [1 / step for step in range(1, 321)]  # 299 rows of then, 21 of now


# How 0.1.0 says that it is alive: a POSIX record lock on byte 0 of `lock`, held by the trainer.
HOLD_THE_OLD_LOCK = """
import fcntl, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
print("held", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def live_old_run():
    """A run of 0.1.0 whose trainer lives: its page in memory, its lock held as 0.1.0 does."""
    run = unpack("crashed")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_OLD_LOCK, str(run.lock_path)], stdout=subprocess.PIPE
    )
    holder.stdout.readline()
    yield run
    holder.kill()
    holder.communicate()


def test_one_whose_trainer_lives_is_seen_alive_and_is_left_alone(live_old_run, operant_pages):
    assert lock_holder(live_old_run.lock_path)
    (page,) = operant_pages.glob("*.page")
    for _ in range(2):  # the second look is after whatever the first one cleaned up
        status = operant_json("status", live_old_run.id)
        assert status["state"] in ("running", "stalled")
        assert status["iteration"] == 50
        assert [run["state"] for run in operant_json("runs")] == [status["state"]]
    assert page.exists()
    assert "is still running" in error_line("train", "--resume", live_old_run.id)


def history_of(run: Run):
    poller = RunPoller(run)
    view = poller.poll()
    poller.close()
    return view.history


def changed_checkpoint(run: Run, change) -> None:
    (path,) = run.checkpoint_folder.glob("iteration-*.pt")
    saved = torch.load(path, weights_only=True)
    change(saved)
    torch.save(saved, path)


def test_a_checkpoint_that_lacks_keys_or_has_others_goes_on_and_says_so():
    def change(saved):
        del saved["config"]["rollout"], saved["config"]["recorder"]
        saved["config"]["ppo"]["momentum"] = 0.5

    run = unpack("stopped")
    changed_checkpoint(run, change)
    done = operant("train", "--resume", run.id, "--set", "total_env_steps=14_336")
    assert done.returncode == 0, done.stderr
    warning = (
        "operant: warning: the checkpoint has ppo.momentum = 0.5, which this version of operant "
        "does not know; it goes on without\n"
    )
    assert warning in done.stderr
    changed_checkpoint(run, lambda saved: saved["config"]["ppo"].update(momentum=0.5))
    done = operant("eval", run.id, "--episodes", "1")
    assert (done.returncode, done.stderr) == (0, warning)


def test_a_checkpoint_that_cannot_go_on_is_one_line():
    run = unpack("stopped")
    changed_checkpoint(run, lambda saved: saved["state"].pop("learner"))
    done = operant("train", "--resume", run.id)
    assert done.returncode == 1
    assert "it lacks learner" in done.stderr
    assert "Traceback" not in done.stderr
