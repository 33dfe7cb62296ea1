"""`operant bench compare` and `ablate` with runs of a moment."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import error_line, operant_json
from waiting import wait_for

from operant.commands.bench import command
from operant.commands.bench.compare import differing
from operant.commands.bench.comparison import compared, curve_points
from operant.commands.bench.trials import Curve, Side, Trial
from operant.commands.helpers.trial_run import iterations_of, mean_up_to
from operant.shared.runs.find_runs import find_run, list_runs
from operant.shared.runs.status import read_status
from operant.trainer.config.files import load_config

pytestmark = pytest.mark.slow

SMALL = (
    "--set",
    "evaluation.num_episodes=2",
    "--set",
    "num_threads=1",
    "--set",
    "num_envs=16",
)


def trial(side, env_steps, train_s, score, seed=1) -> Trial:
    columns = (np.array(column, np.float64) for column in (env_steps, train_s, score))
    curve = Curve(*columns)
    speed = (env_steps[-1] - env_steps[0]) / train_s[-1]
    return Trial(
        side, seed, f"{side}-{seed}", env_steps_per_s=speed, phases={"learn": 1.0}, curve=curve
    )


def test_scores_are_compared_where_all_runs_have_been():
    quick = trial("quick", [10, 90, 95, 100, 200], [0, 1, 1.9, 2, 4], [0, 1, 2, 4, 9])
    slow = trial("slow", [10, 50, 100], [0, 2, 4], [0, 5, 6])
    sides = [Side("quick", "a"), Side("slow", "b")]
    first, second = compared(sides, [quick, slow])
    # All made 100 env steps: rows after 90 and up to 100 count.
    assert first["score_at_equal_env_steps"]["median"] == 3.0
    assert second["score_at_equal_env_steps"]["median"] == 6.0
    # All took 4 s: rows after 3.6 s and up to 4 s count.
    assert first["score_at_equal_time"]["median"] == 9.0
    assert second["score_at_equal_time"]["median"] == 6.0
    assert first["env_steps_per_s"]["median"] == 190 / 4


def test_medians_are_of_all_seeds_and_a_failure_is_no_number():
    trials = [trial("a", [1, 11], [0, 1], [0, score], seed) for seed, score in enumerate((3, 7, 4))]
    failed = Trial("a", 4, "a-4", failure="it died")
    (result,) = compared([Side("a", "a")], [*trials, failed])
    assert result["score_at_equal_env_steps"] == {"median": 4.0, "min": 3.0, "max": 7.0}
    assert result["failures"] == ["it died"]
    assert result["runs"] == ["a-0", "a-1", "a-2", "a-4"]


def test_sides_that_all_failed_have_no_numbers():
    (result,) = compared([Side("a", "a")], [Trial("a", 1, "", failure="no")])
    assert result["env_steps_per_s"] is None
    assert result["curves"] == []


def test_a_long_curve_is_thinned_out_to_its_means_and_keeps_its_ends():
    many = np.arange(1000.0)
    score = many.copy()
    score[::2] = math.nan
    points = curve_points(trial("a", many, many, score))
    assert len(points["score"]) == 200
    # Rows 1, 3, ... 999 have a score: 500 in 200 pieces, the first of 3 of them, the last of 2.
    assert points["score"][0] == points["env_steps"][0] == 3.0
    assert points["score"][-1] == 998.0


def test_what_differs_is_named_key_by_key_as_it_is_set():
    before = load_config("cart_pole_ppo", ["num_envs=32"])
    after = load_config(
        "cart_pole_ppo", ["ppo.num_epochs=2", "policy.hidden_sizes=[8, 8]", "seed=9", "num_envs=32"]
    )
    assert sorted(differing(before, after)) == ["policy.hidden_sizes=[8, 8]", "ppo.num_epochs=2"]
    assert load_config("cart_pole_ppo", ["num_envs=32", *differing(before, after)]) == (
        after.model_copy(update={"seed": before.seed})
    )


def test_configurations_are_trained_and_their_runs_stay(tmp_path):
    small = tmp_path / "wide.toml"
    small.write_text('env = "cart_pole"\nrollout_steps = 16\ntotal_env_steps = 9999\n')
    page = tmp_path / "report.html"
    answer = operant_json(
        "bench", "compare", "cart_pole_ppo_smoke", str(small), *SMALL, "--env-steps", "4096",
        "--repeats", "1", "--report", str(page),
    )  # fmt: skip
    assert [result["name"] for result in answer["results"]] == ["cart_pole_ppo_smoke", str(small)]
    for result in answer["results"]:
        assert result["failures"] == []
        assert result["env_steps_per_s"]["min"] > 0
        assert result["peak_bytes"] > 2**20
        assert result["startup_s"]["min"] > 0
        assert math.isfinite(result["evaluation"]["median"])
        assert {"collect", "learn"} <= set(result["phase_fractions"])
        (run,) = result["runs"]
        assert find_run(run).manifest()["seed"] == 1
    text = page.read_text()
    assert text.count("<polyline") == 4  # a run of two sides, by env steps and by time
    assert "Score by env steps" in text


@pytest.fixture
def trained(monkeypatch) -> list[tuple[str, int, int]]:
    """Name, seed and env steps of all that is trained, in no time."""
    done: list[tuple[str, int, int]] = []

    def run_trial(side, seed, env_steps, score):
        done.append((side.name, seed, env_steps))
        return trial(side.name, [1, env_steps], [0, 1], [0, seed], seed)

    monkeypatch.setattr("operant.commands.bench.trials.run_trial", run_trial)
    return done


def lines_of(*arguments: str) -> list[str]:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_another_side_goes_first_each_time(trained):
    lines_of("compare", "cart_pole_ppo", "acrobot_ppo", "--repeats", "3", "--env-steps", "100_000")
    first, second = ("cart_pole_ppo", "acrobot_ppo")
    assert trained == [
        (first, 1, 100_000), (second, 1, 100_000), (second, 2, 100_000),
        (first, 2, 100_000), (first, 3, 100_000), (second, 3, 100_000),
    ]  # fmt: skip


def test_one_key_at_a_time_is_changed_and_what_does_not_hold_is_said(trained, tmp_path):
    before, after = tmp_path / "before.toml", tmp_path / "after.toml"
    rest = 'env = "cart_pole"\nrollout_steps = 8\n'
    before.write_text(f"{rest}num_envs = 8\nppo.num_minibatches = 2\ntotal_env_steps = 9000\n")
    # 5 minibatches divide 40 rows of 8 steps, and not the 8 of the other.
    after.write_text(f"{rest}num_envs = 40\nppo.num_minibatches = 5\ntotal_env_steps = 8000\n")
    lines = lines_of("ablate", str(before), str(after), "--repeats", "1")
    names = [str(before), "num_envs=40", "ppo.num_minibatches=5", str(after)]
    assert [line.split()[0] for line in lines[2:6]] == names
    assert trained == [(name, 1, 8000) for name in names if name != "ppo.num_minibatches=5"]
    assert any(line.startswith("ppo.num_minibatches=5 gave nothing: ") for line in lines[6:])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", "cart_pole_ppo"], "two or more"),
        (["compare", "cart_pole_ppo", "cart_pole_ppo"], "each once"),
        (
            ["compare", "cart_pole_ppo", "cart_poles"],
            "no preset or environment is called 'cart_poles'",
        ),
        (["compare", "cart_pole_ppo", "acrobot_ppo", "--env-steps", "9"], "9: one iteration has"),
        (["ablate", "cart_pole_ppo", "cart_pole_ppo"], "do not differ"),
        (["ablate", "cart_pole_ppo", "acrobot_ppo"], "env = cart_pole and acrobot"),
        (["ablate", "cart_pole_ppo", "cart_pole_pqn"], "algorithm = ppo and pqn"),
    ],
)
def test_wrong_input_is_one_line(arguments, words):
    assert words in error_line("bench", *arguments)


def test_a_score_from_before_the_last_tenth_is_better_than_none():
    env_steps, train_s = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    score = np.array([5.0, 6.0, np.nan])
    assert mean_up_to(env_steps, score, 3.0) == 6.0
    assert mean_up_to(train_s, score, 12.0) == 5.0
    assert np.isnan(mean_up_to(env_steps, score, 0.5))


def test_seconds_of_training_are_those_of_iterations_without_pauses_from_the_end_of_the_first():
    nan = math.nan
    columns = {
        "elapsed_s": np.array([30.0, 31.0, 36.0, 40.0]),
        "time/learn_s": np.array([20.0, nan, 1.0, 1.0]),  # the second row is no iteration
        "time/evaluate_s": np.array([0.0, nan, 3.0, 0.0]),
        "time/checkpoint_s": np.array([0.0, nan, nan, 0.5]),
    }
    rows, train_s = iterations_of(columns)
    # 36 - 30 - 3 = 3;  40 - 30 - 3 - 0.5 = 6.5
    assert train_s.tolist() == [0.0, 3.0, 6.5]
    assert rows["elapsed_s"].tolist() == [30.0, 36.0, 40.0]
    assert not len(iterations_of({"elapsed_s": columns["elapsed_s"]})[1])


def test_a_score_that_a_side_does_not_publish_is_refused_before_anything_is_trained():
    arguments = ["bench", "compare", "cart_pole_ppo_smoke", "pendulum_ppo", "--score"]
    line = error_line(*arguments, "episode/retrun")
    assert "--score episode/retrun: cart_pole_ppo_smoke has no such metric" in line
    assert "did you mean 'episode/return'" in line
    assert "there are episode/" in error_line(*arguments, "xyz")


@pytest.mark.parametrize("report", ["/nope/dir/x.html", "/tmp"])
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_trained(report):
    arguments = ["bench", "compare", "cart_pole_ppo_smoke", "pendulum_ppo", "--report", report]
    assert f"--report {report}" in error_line(*arguments)


def test_raw_steps_of_another_librarys_environment_are_refused_in_one_line():
    assert "bench rollout" in error_line("bench", "env", "--set", "env=gymnasium:CartPole-v1")


def test_a_comparison_that_is_killed_leaves_no_trainer_behind():
    arguments = ("bench", "compare", "cart_pole_ppo", "cart_pole_pqn", *SMALL)
    process = subprocess.Popen(
        [sys.executable, "-m", "operant", *arguments, "--env-steps", "1000000000"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: list_runs() and (read_status(list_runs()[0]).iteration or 0) >= 2)
    finally:
        process.kill()
        process.wait()
    (run,) = list_runs()
    wait_for(lambda: not read_status(run).is_alive)
    assert read_status(run).state == "stopped"
