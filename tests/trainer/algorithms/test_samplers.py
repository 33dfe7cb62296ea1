"""Which parts make a minibatch, against what has been worked out of their probabilities."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from learning import iterate

from operant.trainer.experiment.untrained import SEEDED_PARTS, part_seed
from operant.trainer.memory import samplers
from operant.trainer.memory.samplers import (
    Prioritised,
    make_sampler,
    probabilities,
    without_replacement,
)
from operant.trainer.policies.draws import RandomDraws, RandomOrders

CPU = torch.device("cpu")


def section(**changes):
    values = {"sampler": "prioritised", "priority_exponent": 0.5, "num_minibatches": 2}
    return SimpleNamespace(**{**values, **changes})


def batch(*advantages):
    sizes = torch.tensor(advantages)
    return SimpleNamespace(num_parts=len(sizes), part_advantages=sizes)


def test_probabilities_are_powers_of_advantages_over_their_sum():
    found = probabilities(torch.tensor([1.0, 4.0, 9.0, 0.0]), 0.5)
    torch.testing.assert_close(found, torch.tensor([1 / 6, 2 / 6, 3 / 6, 0.0]))
    assert probabilities(torch.zeros(4), 0.5).tolist() == [0.25] * 4


def test_pairs_are_drawn_as_one_after_the_other_would_be():
    # P(i then j) = p_i p_j / (1 - p_i) for p = 1/2, 1/3, 1/6
    probs = torch.tensor([1 / 2, 1 / 3, 1 / 6])
    uniform = torch.rand(60_000, 3, generator=torch.Generator().manual_seed(1))
    drawn = without_replacement(probs, uniform, 2)
    assert (drawn[:, 0] != drawn[:, 1]).all()
    for i in range(3):
        for j in range(3):
            if i != j:
                expected = float(probs[i] * probs[j] / (1 - probs[i]))
                share = ((drawn[:, 0] == i) & (drawn[:, 1] == j)).double().mean()
                # four standard errors
                assert float(share) == pytest.approx(expected, abs=4 * (0.25 / 60_000) ** 0.5)


def test_weights_undo_the_probabilities_as_far_as_beta_says():
    sampler = Prioritised(section(num_minibatches=1), 2, 0, CPU, True)
    # P = 3/4 and 1/4: (2 * 3/4)^-0.4 and (2 * 1/4)^-0.4; at the end 1 / (S P)
    for fraction, beta in ((0.0, 0.4), (0.5, 0.7), (1.0, 1.0)):
        ((index, weights),) = sampler.epoch(batch(9.0, 1.0), 1, fraction)
        expected = torch.tensor([1.5, 0.5])[index] ** -beta
        torch.testing.assert_close(weights, expected)


def test_what_has_no_advantage_is_drawn_last_and_moves_no_policy():
    sampler = Prioritised(section(num_minibatches=1), 3, 0, CPU, True)
    ((index, weights),) = sampler.epoch(batch(0.0, 2.0, 1.0), 1, 0.0)
    assert index[-1] == 0
    assert weights[-1] == 0


def test_without_priorities_every_part_comes_once():
    orders = RandomOrders(0, CPU)
    shuffled = make_sampler(section(priority_exponent=0), orders, 8, 0, CPU, True)
    drawn = torch.cat([index for index, _ in shuffled.epoch(batch(*range(8)), 4, 0.0)])
    assert sorted(drawn.tolist()) == list(range(8))
    assert shuffled.state_dict() == {}


def test_the_next_epoch_is_another_and_a_copy_goes_on_alike():
    def drawn(sampler):
        return [index.tolist() for index, _ in sampler.epoch(batch(*([1.0] * 16)), 2, 0.0)]

    first, second = (Prioritised(section(), 16, 3, CPU, True) for _ in range(2))
    one, two = drawn(first), drawn(first)
    assert one != two
    second.load_state_dict(first.state_dict())
    assert drawn(second) == drawn(first)


def test_no_part_of_a_run_draws_the_numbers_that_rows_are_drawn_with(make_experiment, monkeypatch):
    seen = []

    def watched(probs, uniform, size):
        seen.append(uniform)
        return without_replacement(probs, uniform, size)

    monkeypatch.setattr(samplers, "without_replacement", watched)
    experiment = make_experiment("ppo.sampler=prioritised")
    list(experiment.algorithm.sampler.epoch(batch(*[1.0] * 128), 4, 0.0))
    assert seen[0].shape == (4, 128)  # minibatches, samples
    assert SEEDED_PARTS == ("policy", "learner", "collector")
    for part in SEEDED_PARTS:
        generator = torch.Generator().manual_seed(part_seed(experiment.config, part))
        assert not (seen[0] == torch.rand(4, 128, generator=generator)).any(), part


def test_rows_and_positives_are_drawn_with_different_numbers(make_experiment, monkeypatch):
    first = {}
    draw = RandomDraws.next

    def watched(draws):
        drawn = draw(draws)
        first.setdefault(id(draws), drawn)
        return drawn

    monkeypatch.setattr(RandomDraws, "next", watched)
    experiment = make_experiment(
        "ppo.sampler=prioritised", "policy.memory.kind=gru", "contrastive.coef=0.1"
    )
    iterate(experiment)
    rows, positives = first.values()
    assert (rows.shape, positives.shape) == ((4, 8), (16, 2))  # [minibatches, rows], [L, rows]
    assert not (rows.flatten() == positives.flatten()).any()
