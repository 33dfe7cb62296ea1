"""PPO's optional features: gradients in pieces, and samplers."""

from __future__ import annotations

import weakref

import pytest
import torch
from learning import iterate

from operant.trainer.algorithms import on_policy, ppo
from operant.trainer.algorithms.minibatches import Batch, Rows

MEMORY = ("none", "lstm")
DEAD = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own")  # next-step resets: dead steps


def weights_after(make_experiment, *options, iterations=2):
    experiment = make_experiment("policy.precision=float32", *options)
    iterate(experiment, iterations)
    return experiment.policy.flat_parameters.clone()


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("env", [(), DEAD], ids=["own", "dead steps"])
def test_gradients_in_pieces_add_up_to_the_same_update(make_experiment, memory, env):
    options = (*env, f"policy.memory.kind={memory}", "ppo.sampler=sequential")
    whole = weights_after(make_experiment, *options)
    pieces = weights_after(make_experiment, *options, "ppo.max_minibatch_size=9")
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=1e-5)
    assert (pieces != whole).any()  # sums in another order: it was in pieces


def test_gradients_of_pieces_that_threads_do_not_share_are_added_up_one_by_one(
    make_experiment, monkeypatch
):
    def nobody(function, pieces):
        raise AssertionError("asked to share")

    gradients = []

    def flat_gradient(loss, parameters):
        gradient = on_policy.flat_gradient(loss, parameters)
        gradients.append(weakref.ref(gradient))
        # The sum of the minibatch before, the sum so far, the newest two.
        assert sum(x() is not None for x in gradients) <= 4
        return gradient

    monkeypatch.setattr(ppo.PPO, "can_share_minibatches", False)
    monkeypatch.setattr(ppo, "flat_gradient", flat_gradient)
    experiment = make_experiment("policy.precision=float32", "ppo.max_minibatch_size=4")
    experiment.algorithm._each = nobody
    iterate(experiment)
    section, samples = experiment.algorithm.section, experiment.collector.rollout.rewards.numel()
    assert len(gradients) == section.num_epochs * samples // 4


def samples_with(advantages):
    """Samples whose other fields do not matter here."""
    return Batch(*[torch.tensor(advantages)] * 6)


def test_advantages_are_normalised_before_they_are_weighted(make_experiment):
    algorithm = make_experiment("ppo.sampler=prioritised").algorithm
    samples = samples_with([1.0, 3.0, 5.0])
    weights = torch.tensor([2.0, 1.0, 0.5])
    # mean 3, deviation 2: -1, 0, 1
    found = algorithm.prepared(samples, weights).advantages
    torch.testing.assert_close(found, torch.tensor([-2.0, 0.0, 0.5]))


def test_weights_of_rows_are_those_of_all_their_normalised_steps(make_experiment):
    algorithm = make_experiment("ppo.sampler=prioritised", "policy.memory.kind=gru").algorithm
    valid = torch.tensor([[True, True], [True, False]])
    samples = samples_with([[1.0, 3.0], [5.0, 100.0]])
    rows = Rows(samples, torch.zeros(2, 1), torch.zeros(2, 2, dtype=torch.bool), valid)
    found = algorithm.prepared(rows, torch.tensor([2.0, 0.5]))
    # of the steps that count mean 3, deviation 2: -1 and 1 in the first row, 0 in the other
    torch.testing.assert_close(found.valid_of(found.advantages), torch.tensor([-2.0, 0.0, 2.0]))
