"""Collecting ahead is the loop whose policy acts one update late, whatever is done first."""

from __future__ import annotations

import random

import pytest
import torch
from learning import check_that_a_stopped_run_goes_on, differing, iterate, learn, ratios
from stand_in_streams import Work, WorkEvent

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.files import load_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.experiment.build import device_experiment
from operant.trainer.machine.staged_values import StagedValues
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.running import loop

OVERLAP = "overlap=true"
PLENTY = "total_env_steps=99999"
MEMORY = ("policy.memory.kind=lstm", "policy.memory.horizon=8")
RUNS = {
    "plain": (),
    "normalized": ("normalization.obs=true", "normalization.reward=true"),
    "scheduled": ("ppo.learning_rate_schedule=linear", "ppo.clip_schedule=cosine"),
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


@pytest.mark.parametrize("eager", [("side",), ("main",), ("side", "main"), ("main", "side")])
def test_streams_that_do_at_once_what_they_may_come_to_the_same(make_cuda_experiment, eager):
    options = (PLENTY, *RUNS["normalized"])
    found, plain = make_cuda_experiment(OVERLAP, *options), make_cuda_experiment(*options)
    rows, _ = overlapped(found, Work(eager=eager))
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


def test_the_first_two_rollouts_are_by_the_first_policy_and_each_later_one_by_the_one_before(
    make_cuda_experiment,
):
    experiment = make_cuda_experiment(OVERLAP, PLENTY, "ppo.learning_rate=1e-2")
    policies, furthest = [copied(experiment.policy)], []
    for number in range(4):
        experiment.collect()
        experiment.collector.hand_over()
        rollout = experiment.collector.rollout
        furthest.append(float((ratios(experiment, rollout) - 1).abs().max()))
        experiment.policy.load_state_dict(policies[max(0, number - 1)])
        acting_ratios = ratios(experiment, rollout)
        experiment.policy.load_state_dict(policies[number])
        # Old log-probabilities are those of whoever acted, one update before.
        assert (acting_ratios - 1).abs().max() < 1e-5, number
        experiment.learn()
        policies.append(copied(experiment.policy))
    assert furthest[0] < 1e-5
    assert all(far > 1e-2 for far in furthest[1:])


def first_ratios(experiment):
    """Of the first minibatch, which has all samples, of the next update."""
    experiment.collect()
    experiment.collector.hand_over()
    seen = []
    evaluate_actions = experiment.algorithm.evaluator.evaluate_actions

    def watching(minibatch):
        evaluation = evaluate_actions(minibatch)
        _, outputs, _, samples = evaluation
        log_probs, _ = experiment.policy.distribution.log_prob_and_entropy(outputs, samples.actions)
        seen.append((log_probs - samples.log_probs).exp().detach())
        return evaluation

    experiment.algorithm.evaluator.evaluate_actions = watching
    experiment.learn()
    experiment.algorithm.evaluator.evaluate_actions = evaluate_actions
    return seen[0]


@pytest.mark.parametrize("memory", [(), MEMORY], ids=["", "memory"])
def test_the_first_epoch_begins_at_the_ratio_to_the_policy_that_acted(make_cuda_experiment, memory):
    experiment = make_cuda_experiment(
        OVERLAP, PLENTY, "ppo.num_minibatches=1", "ppo.learning_rate=1e-2",
        "ppo.sampler=sequential", "normalization.obs=true", *memory,
    )  # fmt: skip
    assert (first_ratios(experiment) - 1).abs().max() < 1e-5  # nothing was learned yet
    before = copied(experiment.policy)
    ratios = first_ratios(experiment)
    assert (ratios - 1).abs().max() > 1e-2
    assert differing(before, copied(experiment.policy)) != []


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


@pytest.fixture
def page(operant_pages):
    writer = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(load_config()), publish_interval_s=1
    )
    return writer, MetricsReader.attach(operant_pages / "p")


@pytest.fixture
def on_the_device(monkeypatch):
    """`train` as with a GPU; the processor stands in for it."""
    monkeypatch.setattr(
        loop, "make_experiment", lambda config, *_: device_experiment(config, torch.device("cpu"))
    )


@pytest.mark.parametrize("options", [RUNS["normalized"], MEMORY], ids=["normalized", "memory"])
def test_a_stopped_run_goes_on_to_the_same_end(
    on_the_device, small_config, page, tmp_path, options
):
    config = small_config(OVERLAP, "ppo.learning_rate_schedule=linear", *options)
    checkpoint = check_that_a_stopped_run_goes_on(config, page[0], tmp_path)
    acting = checkpoint.state["collector"]["acting"]
    assert differing(acting, checkpoint.state["policy"]) != []  # it is an update behind


def test_waiting_checkpoints_and_evaluations_change_nothing(
    on_the_device, small_config, page, tmp_path
):
    writer, reader = page

    def weights(folder, *options):
        config = small_config(OVERLAP, *options)
        loop.train(config, writer, tmp_path / folder)
        path = max((tmp_path / folder).glob("*.pt"))
        return torch.load(path, weights_only=True)["state"]

    often = weights("often", "checkpoint.every_iterations=1", "evaluation.every_iterations=2")
    seldom = weights(
        "seldom", "checkpoint.every_iterations=0", "evaluation.every_iterations=0",
        "evaluation.num_episodes=0",
    )  # fmt: skip
    assert differing(often, seldom) == []
    assert reader.read().iteration == 6


def test_a_checkpoint_without_what_acts_does_not_fit(make_cuda_experiment):
    plain, found = make_cuda_experiment(PLENTY), make_cuda_experiment(OVERLAP, PLENTY)
    iterate(plain)
    with pytest.raises(KeyError, match="acting"):
        found.load_state_dict(plain.state_dict(), 1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_learns_cart_pole(page, tmp_path, on_the_device):
    writer, reader = page
    config = load_config(
        "cart_pole_ppo", [OVERLAP, "total_env_steps=300000", "checkpoint.every_iterations=0"]
    )
    assert loop.train(config, writer, tmp_path) is True
    assert reader.read().metrics["evaluation/return"] >= 475
