"""How many workers a run has where it is measured, and where it is not."""

from __future__ import annotations

import pytest

from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import describe
from operant.trainer.envs.workers.choice import Measured, chosen, in_words
from operant.trainer.envs.workers.dividing import AUTO, WorkerPlan, candidates
from operant.trainer.experiment.build import with_fastest_workers
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import Machine


@pytest.mark.parametrize(
    ("asked", "pairs"),
    [
        ((8, 0, AUTO, 2, 9), [(0, 1)]),
        ((8, 2, AUTO, 2, 9), [(2, 1), (2, 2)]),
        ((8, AUTO, AUTO, 2, 9), [(0, 1), (2, 1), (2, 2)]),
        ((8, AUTO, AUTO, 2, 1), [(0, 1), (2, 1)]),
        ((12, AUTO, AUTO, 8, 9), [(0, 1), (4, 1), (4, 2), (6, 1), (6, 2)]),
    ],
)
def test_what_is_tried(asked, pairs):
    assert candidates(*asked) == pairs


def measured(**seconds):
    plans = {"serial": WorkerPlan(), "two": WorkerPlan(2), "two_groups": WorkerPlan(2, 2)}
    return [Measured(plans[name], step_s) for name, step_s in seconds.items()]


def test_workers_must_win_a_fifth_to_be_worth_their_cores():
    assert chosen(measured(serial=1.1, two=1.0, two_groups=1.0)) == WorkerPlan()
    assert chosen(measured(serial=1.3, two=1.0, two_groups=0.9)) == WorkerPlan(2, 2)
    assert chosen(measured(two=1.0, two_groups=0.99)) == WorkerPlan(2, 2)


def test_what_was_measured_is_told_in_one_line():
    assert in_words(measured(serial=0.016, two=0.0085, two_groups=0.00812)) == (
        "workers: with 2 in 2 groups is chosen; a step of all environments takes 16 ms without "
        "workers, 8.5 ms with 2, 8.12 ms with 2 in 2 groups"
    )


def choice(monkeypatch, env, *overrides):
    """The workers that a run gets by measurement, and what it says of them, with two cores."""
    monkeypatch.setattr("operant.trainer.envs.workers.choice.MEASURE_S", 0.1)
    config = make_config({}, (f"env={env}", "num_envs=4", "workers.num_workers=auto", *overrides))
    planned = with_fastest_workers(plan(config, describe(config), Machine(cores=2)))
    (workers,) = planned.workers
    return workers, planned.notices[-1]


@pytest.mark.slow
def test_an_environment_that_waits_gets_workers(monkeypatch):
    monkeypatch.setenv("HOSTED_ENVS_US", "20000")
    workers, told = choice(monkeypatch, "gymnasium:hosted_envs:make_slow")
    assert workers[0] == 2
    assert told.startswith("workers: with 2 ")


@pytest.mark.slow
def test_an_environment_that_takes_microseconds_gets_none(monkeypatch):
    workers, told = choice(monkeypatch, "native:native_envs:make")
    assert workers == (0, 1)
    assert told.startswith("workers: without workers is chosen; a step of all environments takes ")


@pytest.mark.slow
def test_fewer_workers_than_configured_are_told(make_experiment, monkeypatch):
    for place in (
        "operant.trainer.experiment.plan",
        "operant.trainer.envs.workers.section",
    ):
        monkeypatch.setattr(f"{place}.num_cores", lambda: 2)
    experiment = make_experiment(
        "env=native:native_envs:make", "workers.num_workers=4", "workers.async_factor=1"
    )
    assert experiment.take_notices() == [
        "workers: 2 and not 4 as configured, for there are 2 cores"
    ]
    experiment.close()
