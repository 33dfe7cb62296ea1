"""Collecting ahead is the loop whose policy acts one update late, whatever is done first."""

from __future__ import annotations

import random

import pytest
import torch
from learning import check_that_a_stopped_run_goes_on, differing, iterate, learn
from stand_in_streams import Work, WorkEvent

from operant.trainer.machine.staged_values import StagedValues
from operant.trainer.machine.stopwatch import Stopwatch

OVERLAP = "overlap=true"
PLENTY = "total_env_steps=99999"
MEMORY = ("policy.memory.kind=lstm", "policy.memory.horizon=8")
RUNS = {
    "plain": (),
    "normalized": ("normalization.obs=true", "normalization.reward=true"),
    "scheduled": ("ppo.entropy_coef=0.01", "ppo.entropy_schedule=cosine"),
    "stopped by kl": ("ppo.target_kl=0.001", "ppo.num_epochs=6", "ppo.learning_rate=1e-2"),
    "with memory": (*MEMORY, "normalization.obs=true"),
    "prioritised": ("ppo.sampler=prioritised",),
    "gaussian": ("env=pendulum",),
    "fused": ("rollout=fused",),
}
NUM_ITERATIONS = 6


def random_order(seed):
    draws = random.Random(seed)
    return lambda: draws.sample(("side", "main"), 2)


ORDERS = {
    "collecting first": lambda: ("side", "main"),
    "learning first": lambda: ("main", "side"),
    "at random": random_order(1),
}


class WorkValues(StagedValues):
    """Values that are sent when the stream comes to it."""

    def __init__(self, work, names):
        super().__init__(names, torch.device("cpu"), slots=99)
        self._work = work

    def stage(self, *arguments):
        send = super().stage
        self._work.give(lambda: send(*arguments))
        return True

    def drain(self):
        self._work.finish()
        return super().drain()


def given_to(experiment, work):
    """Has the work of an experiment, of which one iteration is over, wait on stand-in streams;
    returns where it is told what was done, in order.
    """
    executor, done = experiment.executor, []

    def give(name, do):
        work.give(lambda: (done.append(name), do()))

    executor.run = give
    executor.prepared = lambda: work.stream("main")
    executor.aside = lambda: work.stream("side")
    executor._collected, executor._handed_over = WorkEvent(work), WorkEvent(work)
    for name, staged in executor._staged.items():
        waiting = executor._staged[name] = WorkValues(work, staged.names)
        waiting.values = staged.values
    return done


def overlapped(experiment, work, num_iterations=NUM_ITERATIONS):
    """The metrics of all iterations, begun without waiting for any, and what was done."""
    rows = [iterate(experiment)]
    done = given_to(experiment, work)
    for _ in range(num_iterations - 1):
        rows += experiment.iterate(Stopwatch(), wait=False)
    rows += experiment.finish()
    return [untimed(row) for row in rows], done


def one_update_late(experiment, num_iterations=NUM_ITERATIONS):
    """The same by the plain loop, which acts with what is loaded into its policy for that long, as
    it was one update before; returns metrics, and the policy that would act next.
    """
    policy, rows = experiment.policy, []
    acting = copied(policy)
    for _ in range(num_iterations):
        current = copied(policy)
        policy.load_state_dict(acting)
        experiment.collect()
        policy.load_state_dict(current)
        acting = current
        rows.append(untimed(learn(experiment)))
    return rows, acting


def copied(policy):
    return {name: x.clone() for name, x in policy.state_dict().items()}


def untimed(row):
    return {name: value for name, value in row.items() if not name.startswith("time/")}


def check_same(found, rows, plain, expected):
    """An experiment that overlapped, and the plain loop, are at the same point bit for bit."""
    expected_rows, acting = expected
    assert rows == [pytest.approx(row, rel=0, abs=0, nan_ok=True) for row in expected_rows]
    state, plain_state = found.state_dict(), plain.state_dict()
    assert differing(acting, state["collector"].pop("acting")) == []
    assert differing(plain_state, state) == []


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("run", RUNS)
def test_whatever_is_done_first_it_is_the_loop_that_acts_one_update_late(
    make_cuda_experiment, run, order
):
    options = (PLENTY, *RUNS[run])
    found, plain = make_cuda_experiment(OVERLAP, *options), make_cuda_experiment(*options)
    rows, _ = overlapped(found, Work(order=ORDERS[order]))
    check_same(found, rows, plain, one_update_late(plain))


def test_a_rollout_may_be_collected_before_the_last_is_learned_from_and_after(make_cuda_experiment):
    def done_by(order):
        return overlapped(make_cuda_experiment(OVERLAP, PLENTY), Work(order=ORDERS[order]), 4)[1]

    collect, hand_over, learning = "collect", "hand_over", "learn"
    assert done_by("collecting first") == [
        collect, hand_over, collect, learning, hand_over, collect, learning, hand_over, learning,
    ]  # fmt: skip
    assert done_by("learning first") == [collect, hand_over, learning] * 3


@pytest.mark.parametrize("event", ["_collected", "_handed_over"])
def test_without_one_of_the_events_the_stand_in_comes_to_something_else(
    make_cuda_experiment, monkeypatch, event
):
    plain = make_cuda_experiment(PLENTY)
    expected = one_update_late(plain)[0]

    def rows_by(order):
        experiment, work = make_cuda_experiment(OVERLAP, PLENTY), Work(order=ORDERS[order])
        rows = [iterate(experiment)]
        given_to(experiment, work)
        monkeypatch.setattr(getattr(experiment.executor, event), "wait", lambda: None)
        for _ in range(NUM_ITERATIONS - 1):
            rows += experiment.iterate(Stopwatch(), wait=False)
        return [untimed(row) for row in (*rows, *experiment.finish())]

    assert any(rows_by(order) != expected for order in ("collecting first", "learning first"))


def fill(tensors, value=float("nan")):
    for x in tensors:
        x.fill_(value if x.is_floating_point() else 77 if x.dtype != torch.bool else True)


@pytest.mark.parametrize("memory", [(), MEMORY], ids=["", "memory"])
def test_what_collects_and_what_learns_have_nothing_in_common(make_cuda_experiment, memory):
    def make():
        experiment = make_cuda_experiment(OVERLAP, PLENTY, *RUNS["normalized"], *memory)
        iterate(experiment, 2)
        return experiment, experiment.collector, experiment.collector._collector

    def of_learning(experiment):
        lagging, algorithm = experiment.collector, experiment.algorithm
        statistics = algorithm.rewards.normalizer.state_dict().values()
        return [
            *experiment.policy.state_dict().values(), *lagging.rollout._tensors.values(),
            *statistics, lagging._episode_totals, experiment._learned_env_steps,
        ]  # fmt: skip

    def of_collecting(experiment):
        collector = experiment.collector._collector
        return [
            *collector._policy.state_dict().values(), *collector.rollout._tensors.values(),
            *collector.envs.state, *collector.envs.totals, collector._steps_before,
            collector._states.now,
        ]  # fmt: skip

    (one, _, own), (other, _, others) = make(), make()
    fill(of_learning(other))
    spoilt = [x.clone() for x in of_learning(other)]
    one.collect()
    other.collect()
    assert differing(own.rollout._tensors, others.rollout._tensors) == []
    assert differing(own.state_dict(), others.state_dict()) == []
    same = [torch.equal(a.nan_to_num(), b.nan_to_num())
            for a, b in zip(spoilt, of_learning(other), strict=True)]  # fmt: skip
    assert all(same)

    (one, own, _), (other, others, _) = make(), make()
    fill(of_collecting(other))
    spoilt = [x.clone() for x in of_collecting(other)]
    found = [{name: float(x) for name, x in e.learn().items()} for e in (one, other)]
    assert found[0] == pytest.approx(found[1], rel=0, abs=0, nan_ok=True)
    assert differing(copied(one.policy), copied(other.policy)) == []
    assert differing(one.algorithm.state_dict(), other.algorithm.state_dict()) == []
    same = [torch.equal(a.nan_to_num(), b.nan_to_num())
            for a, b in zip(spoilt, of_collecting(other), strict=True)]  # fmt: skip
    assert all(same)


def test_a_stopped_run_goes_on_to_the_same_end(on_the_device, small_config, page, tmp_path):
    options = (*RUNS["with memory"], "normalization.reward=true")
    config = small_config(OVERLAP, "ppo.learning_rate_schedule=linear", *options)
    checkpoint = check_that_a_stopped_run_goes_on(config, page[0], tmp_path)
    acting = checkpoint.state["collector"]["acting"]
    assert differing(acting, checkpoint.state["policy"]) != []  # it is an update behind
