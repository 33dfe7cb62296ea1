"""Runs that operant 0.2.0 left list, open, export, evaluate and go on; see tests/data/0.2.0."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest
from command_line import operant, operant_json
from old_runs import names_of, unpack

from operant.monitor.runs.reading.run_poller import RunPoller
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import open_page, read_status

# Of each: state, iteration, env steps, publishes, the iteration of its checkpoint.
WERE = {
    "ppo": ("finished", 98, 200_704, 99, 98),
    "recurrent_ppo": ("stopped", 31, 7_936, 50, 31),
    "pqn": ("stopped", 31, 7_936, 31, 31),
    "dqn": ("crashed", 50, 3_200, 51, 40),
    "sac": ("finished", 50, 3_200, 56, 50),
    "rainbow": ("stopped", 51, 3_264, 96, 51),
    "own_loop_failed": ("failed", 300, 3_000, 300, None),
    "own_loop_killed": ("crashed", 299, 2_990, 299, None),
}
TRAINED = [name for name, were in WERE.items() if were[4]]
# The highest and the lowest mean return that these policies had when they were kept.
RETURNS = {"ppo": (500, 500), "sac": (-2000, -100)}


def unpacked(name: str) -> Run:
    return unpack(name, "0.2.0")


def test_every_archive_is_tested():
    assert sorted(WERE) == names_of("0.2.0")


def test_they_are_listed_with_their_states():
    states = {unpacked(name).id: were[0] for name, were in WERE.items()}
    assert {run["run"]: run["state"] for run in operant_json("runs")} == states


@pytest.mark.slow
@pytest.mark.parametrize("name", WERE)
def test_status_the_report_and_the_monitor_show_what_they_had_reached(name):
    state, iteration, env_steps, num_publishes, _ = WERE[name]
    run = unpacked(name)
    status = operant_json("status", run.id)
    assert (status["state"], status["iteration"], status["env_steps"]) == (
        state, iteration, env_steps,
    )  # fmt: skip
    report = operant("monitor", run.id, "--once")
    assert (report.returncode, report.stderr) == (0, "")
    assert state in report.stdout.splitlines()[1]
    poller = RunPoller(run)
    view = poller.poll()
    poller.close()
    assert view.publish == num_publishes
    assert view.history.publish.tolist() == list(range(1, num_publishes + 1))
    assert {metric.name for metric in view.schema} == set(view.history.names)


def test_an_outcome_without_flags_is_the_run_s_own():
    reader = open_page(unpacked("own_loop_failed"))
    outcome = reader.outcome()
    reader.detach()
    assert (outcome.state, outcome.exit_code, outcome.message) == ("failed", 3, "exit code 3")
    assert not outcome.is_provisional


@pytest.mark.parametrize("name", WERE)
def test_they_are_exported_as_csv(name, tmp_path):
    path = tmp_path / "run.csv"
    done = operant("export", unpacked(name).id, "--to", "csv", "--output", str(path))
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(path)
    assert table["publish"].tolist() == list(range(1, WERE[name][3] + 1))
    if name.startswith("own_loop"):
        assert table["loss/policy"].tolist() == [1 / n for n in range(1, WERE[name][3] + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_they_are_evaluated(name):
    run = unpacked(name)
    result = operant_json("eval", run.id, "--episodes", "5")
    assert result["episodes"] == 5
    low, high = RETURNS.get(name, (1, 500))
    assert low <= result["mean_return"] <= high


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
def test_they_go_on_from_their_checkpoint(name):
    run = unpacked(name)
    _, iteration, env_steps, _, checkpoint = WERE[name]
    per_iteration = env_steps // iteration
    total = (checkpoint + 5) * per_iteration
    status = operant_json(
        "train", "--resume", run.id, "--set", f"total_env_steps={total}",
        "--set", "evaluation.num_episodes=0",
    )  # fmt: skip
    assert (status["run"], status["state"]) == (run.id, "finished")
    assert (status["iteration"], status["env_steps"]) == (checkpoint + 5, total)
    poller = RunPoller(run)
    history = poller.poll().history
    poller.close()
    # They publish while they collect, too.
    assert sorted({*history.iteration.tolist()} - {-1, 0}) == list(range(1, checkpoint + 6))
    assert run.manifest()["resumed"][0]["iteration"] == checkpoint


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pqn", "sac"])
def test_their_policies_are_exported_as_onnx(name, tmp_path):
    pytest.importorskip("onnxruntime")
    path = tmp_path / "policy.onnx"
    done = operant("export", unpacked(name).id, "--to", "onnx", "--output", str(path))
    assert done.returncode == 0, done.stderr
    assert path.stat().st_size > 0


GOES_ON = """
import operant
run = operant.init(id="job-2", resume="allow")
assert run.resumed, "a new run was begun"
for step in range(300, 321):
    operant.log({"loss/policy": 1 / step}, step=10 * step)
operant.finish()
"""


def test_a_loop_of_ones_own_goes_on():
    run = unpacked("own_loop_killed")
    subprocess.run([sys.executable, "-c", GOES_ON], check=True, timeout=600)
    status = read_status(run)
    assert (status.state, status.env_steps) == ("finished", 3200)
