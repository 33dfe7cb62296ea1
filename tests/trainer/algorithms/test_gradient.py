"""PPO in PyTorch on several cores: pieces of collecting and learning, and what may not change."""

from __future__ import annotations

import pytest
import torch
from learning import iterate

from operant.trainer.algorithms.minibatches import SHARED_SAMPLES, fill_values, num_shared
from operant.trainer.algorithms.ppo import PPO
from operant.trainer.collecting.collector import Collector, SlicedCollector
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

MEMORY = {"kind": "lstm", "size": 32, "horizon": 8}
WITH_MEMORY = {"policy": {"hidden_sizes": [16], "memory": MEMORY}}
KINDS = {
    "lstm": {"env": "grid", "num_envs": 64, **WITH_MEMORY},
    "gru": {
        "env": "cart_pole_no_velocity", "num_envs": 256,
        "policy": {"hidden_sizes": [16], "memory": {"kind": "gru", "size": 24, "horizon": 8}},
    },
    "tokens": {"env": "grid", "num_envs": 256, "policy": {"hidden_sizes": [16]}},
    "four pieces": {"env": "grid", "num_envs": 512, **WITH_MEMORY},
}  # fmt: skip


def made(kind, num_threads, **besides):
    config = make_config(
        {
            "rollout_steps": 16, "num_threads": num_threads, "total_env_steps": 10**6,
            "ppo": {"num_epochs": 2, "num_minibatches": 2, "learning_rate": 1e-3},
            "evaluation": {"num_episodes": 0}, **KINDS[kind], **besides,
        }
    )  # fmt: skip
    threads = Threads(1)
    threads.num_threads = num_threads  # whatever this machine has
    return processor_experiment(config, threads)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_the_same_with_any_number_of_threads(kind):
    found = []
    for num_threads in (1, 2, 3):
        experiment = made(kind, num_threads)
        assert isinstance(experiment.collector, SlicedCollector)
        iterate(experiment, 3)
        found.append(experiment.policy.flat_parameters.detach().clone())
        experiment.close()
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pieces_add_up_to_what_whole_minibatches_give(kind, monkeypatch):
    found = []
    for is_shared in (True, False):
        monkeypatch.setattr(PPO, "can_share_minibatches", is_shared)
        experiment = made(kind, 2)
        first = experiment.policy.flat_parameters.detach().clone()
        iterate(experiment)
        found.append(experiment.policy.flat_parameters.detach() - first)
        experiment.close()
    assert found[0].abs().max() > 1e-3
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_values_come_with_the_rollout_and_are_those_of_evaluating_it(kind):
    besides = {"grid": {"max_steps": 11}} if kind == "lstm" else {}
    experiment = made(kind, 2, **besides)
    for _ in range(3):
        rollout = experiment.collect()
        assert rollout.has_values
        values, next_values = rollout.values.clone(), rollout.next_values.clone()
        fill_values(experiment.policy, rollout)
        torch.testing.assert_close(values, rollout.values, rtol=1e-5, atol=1e-5)
        lives = ~rollout.terminated  # what comes after an end counts for nothing
        torch.testing.assert_close(
            next_values[lives], rollout.next_values[lives], rtol=1e-5, atol=1e-5
        )
    if kind == "lstm":
        assert rollout.truncated.any()
    experiment.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lstm", "tokens"])
def test_what_is_collected_in_pieces_is_what_is_collected_step_by_step(kind):
    experiment = made(kind, 2)
    pieces = experiment.collector
    plain = Collector(
        type(pieces.envs)(pieces.envs.spec, pieces.envs.num_envs, experiment.config.seed),
        experiment.policy, experiment.config.rollout_steps, pieces._seed,
    )  # fmt: skip
    for _ in range(2):
        found, expected = pieces.collect(), plain.collect()
        for name in ("obs", "actions", "rewards", "terminated", "truncated"):
            assert torch.equal(getattr(found, name), getattr(expected, name)), name
        names = (
            ("log_probs", "values", "next_values", "states") if kind == "lstm" else ("log_probs",)
        )
        for name in names:
            ours, theirs = getattr(found, name), getattr(expected, name)
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    assert pieces.take_episode_totals().tolist() == plain.take_episode_totals().tolist()
    assert pieces.env_steps_under_way == 0
    experiment.close()


def test_only_minibatches_that_are_worth_it_are_cut():
    assert [num_shared(n) for n in (1, 512, 1023)] == [1, 1, 1]
    assert [num_shared(n) for n in (1024, SHARED_SAMPLES)] == [2, 2]
    assert num_shared(10 * SHARED_SAMPLES) == 10
    assert [num_shared(n, has_images=True) for n in (1, 127, 128, 256)] == [1, 1, 2, 4]
