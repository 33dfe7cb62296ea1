"""operant runs --group-by: statistics of groups of runs."""

from __future__ import annotations

import json

import pytest
from command_line import error_line, operant, operant_json

from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession


def ended_run(name: str, gamma: float, seed: int, **metrics: float) -> Run:
    config = {"seed": seed, "ppo": {"gamma": gamma}}
    run, lock = create_run(f"{name}-seed{seed}", {"config": config})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish(
        {name.replace("_", "/"): v for name, v in metrics.items()}, 3, 30 * seed
    )
    session.close("finished", 0)
    return run


@pytest.fixture
def runs() -> list[Run]:
    """Returns of 1, 2, 3 and 10, and of -4 and -2."""
    wide = [ended_run("wide", 0.9, i, episode_return=v) for i, v in enumerate([1, 2, 3, 10], 1)]
    return wide + [ended_run("base", 0.99, i, episode_return=v) for i, v in enumerate([-4, -2], 1)]


def test_groups_of_seeds_have_their_statistics(runs):
    base, wide = operant_json("runs", "--group-by", "name", "--baseline", "base")
    assert (base["group"], wide["group"]) == ("base", "wide")
    assert wide["runs"] == [run.id for run in reversed(runs[:4])]
    assert (wide["metric"], wide["num_values"], wide["env_steps"]) == (
        "episode/return",
        4,
        [30, 120],
    )
    assert (wide["mean"], wide["min"], wide["max"]) == (4.0, 1.0, 10.0)
    assert wide["standard_error"] == pytest.approx((50 / 3) ** 0.5 / 2)
    assert wide["interquartile_mean"] == 2.5  # of 2 and 3
    low, high = wide["interquartile_mean_ci95"]
    assert 1 <= low < 2.5 < high <= 10
    assert wide["quartiles"] == [1.75, 4.75]
    # 7 above -3
    assert (wide["baseline"], wide["above_baseline_fraction"]) == (-3.0, pytest.approx(7 / 3))
    assert base["above_baseline_fraction"] == 0


def test_the_table_has_a_line_for_each_group(runs):
    part = runs[0].id.rpartition("-")[2]
    answer = operant("runs", "--group-by", "gamma", "--baseline", part)
    assert answer.returncode == 0, answer.stderr
    head, *lines = answer.stdout.splitlines()
    assert head.split() == [
        "group", "n", "episode/return", "±", "std", "error", "vs", "baseline", "IQM", "95%", "CI",
        "min", "to", "max", "steps",
    ]  # fmt: skip
    assert [line.split()[:5] for line in lines] == [
        ["ppo.gamma=0.99", "2", "-3.000", "±", "1.000"],
        ["ppo.gamma=0.9", "4", "4.000", "±", "2.041"],
    ]  # fmt: skip
    assert [line.split()[5] for line in lines] == ["-400.0%", "+300.0%"]


def run_with_returns(name: str, returns: dict[int, float]) -> None:
    """`returns` are at env steps; there is a loss in between."""
    run, lock = create_run(name, {"config": {"seed": 1}})
    session = RunSession(run, lock, publish_interval_s=1)
    for i, (env_steps, value) in enumerate(returns.items()):
        session.metrics.publish({"episode/return": value}, i, env_steps)
        session.metrics.publish({"loss/value": -value}, i, env_steps + 1)
    session.close("finished", 0)


def test_values_at_a_step_are_the_last_ones_up_to_it():
    run_with_returns("a-seed1", {500: 1.0, 1000: 3.0, 1500: 100.0})
    run_with_returns("a-seed2", {800: 5.0, 1200: 100.0})
    run_with_returns("a-seed3", {900: 1000.0})
    run_with_returns("b-seed1", {900: 1000.0})
    a, b = sorted(
        operant_json("runs", "--group-by", "name", "--at", "1k", "--baseline", "a"),
        key=lambda group: group["group"],
    )
    assert (a["mean"], a["num_values"], a["env_steps"]) == (4.0, 2, [800, 1000])
    assert (a["baseline"], a["above_baseline_fraction"]) == (4.0, 0.0)
    assert (b["runs"], b["num_values"]) == ([], 0)
    answer = operant("runs", "--group-by", "name", "--at", "1_000", "--metric", "value")
    assert answer.stderr == "operant: warning: 2 runs left out: not yet at env step 1_000\n"
    # The losses are of steps 501 and 801.
    assert [line.split()[:3] for line in answer.stdout.splitlines()[1:]] == [
        ["b", "0", "-"],
        ["a", "2", "-3.000"],
    ]


@pytest.mark.parametrize(("arguments", "words"), [
    (["--group-by", "gama"], "--group-by gama: no run has this key; did you mean 'gamma'?"),
    (["--group-by", "name", "--metric", "episode/retrun"],
     "--metric episode/retrun: no run has this metric; did you mean 'episode/return'?"),
    (["--group-by", "name", "--baseline", "bse"],
     "--baseline bse: no group or run has this name; did you mean 'base'?"),
    (["--baseline", "base"], "--baseline needs --group-by, as in `operant runs --group-by name`"),
    (["--group-by", "name", "--at", "far"],
     "--at far: expected env steps, as 100k, 1e5 or 100_000"),
    (["--group-by", "name", "--at=-1"], "--at -1: expected env steps, as 100k, 1e5 or 100_000"),
    (["--group-by", "name", "--at", "1k", "--host", "a"],
     "--at reads the rows of this machine's runs: it excludes --host"),
    (["--at", "100k"], "--at needs --group-by, as in `operant runs --group-by name`"),
    (["--metric", "loss"], "--metric needs --group-by, as in `operant runs --group-by name`"),
])  # fmt: skip
def test_wrong_input_is_one_line(arguments, words, runs):
    assert error_line("runs", *arguments) == f"operant: {words}\n"


def test_a_filter_leaves_the_runs_that_the_monitors_list_would_show(runs):
    found = operant_json("runs", "gamma>0.95", "return>-3")
    assert [run["id"] for run in found] == [runs[-1].id]
    grouped = operant("runs", "--group-by", "name", "--json", "--", "-wide")
    (base,) = json.loads(grouped.stdout)
    assert (base["group"], base["num_values"]) == ("base", 2)
    assert operant("runs", "nowhere").stdout == "no run fits the filter\n"
