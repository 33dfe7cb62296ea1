"""The contrastive loss: what is compared with what, what it does to an update, and that without it
there is none of it.
"""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learning import collected, iterate

from operant.trainer.algorithms.auxiliary.contrastive import (
    Contrastive,
    geometric_steps,
    info_nce,
    steps_left,
)
from operant.trainer.algorithms.minibatches import fill_values, rows_of

LSTM = ("policy.memory.kind=lstm", "policy.memory.size=8")
ON = (*LSTM, "contrastive.coef=0.1")
DEAD_STEPS = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own", "rollout_steps=64")


def unit_vectors(*shape, seed=1):
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(drawn, dim=-1)


def test_steps_left_are_counted_to_the_end_of_the_episode_or_of_the_row():
    # an end after the second of five steps; one after the first and the last; none
    resets = torch.tensor([[0, 1, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]]).bool().T
    assert steps_left(resets).T.tolist() == [[1, 0, 2, 1, 0], [0, 3, 2, 1, 0], [4, 3, 2, 1, 0]]


@given(
    resets=st.lists(st.booleans(), min_size=1, max_size=30),
    discount=st.one_of(st.just(0.0), st.floats(0, 0.999999)),
    seed=st.integers(0, 1000),
)
def test_a_positive_is_a_later_step_of_the_same_episode_wherever_there_is_one(
    resets, discount, seed
):
    uniform = torch.rand(len(resets), 1, generator=torch.Generator().manual_seed(seed))
    uniform[::3] = 1 - 2**-24  # the largest there is
    uniform[1::3] = 0.0
    most = steps_left(torch.tensor(resets).unsqueeze(1))
    later = geometric_steps(uniform, most, discount).squeeze(1).tolist()
    for t, steps in enumerate(later):
        if resets[t] or t == len(resets) - 1:
            assert steps == 0
        else:
            assert steps >= 1
            assert t + steps < len(resets)
            assert not any(resets[t : t + steps])  # the episode of t goes on until there


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9])
def test_distances_are_geometric_and_cut_off_where_the_episode_ends(discount):
    uniform = (torch.arange(10_000) + 0.5) / 10_000
    found = geometric_steps(uniform, torch.tensor(4), discount).bincount(minlength=5)
    weights = [discount ** (k - 1) if k > 1 else 1.0 for k in (1, 2, 3, 4)]
    expected = [0.0, *(10_000 * w / sum(weights) for w in weights)]
    assert found.tolist() == pytest.approx(expected, abs=1.0)


def plain_info_nce(embeddings, later, temperature):
    """The same, said step by step and row by row."""
    num_steps, num_rows, _ = embeddings.shape
    losses = torch.zeros(num_steps, num_rows, dtype=embeddings.dtype)
    for t in range(num_steps):
        for row in range(num_rows):
            if not later[t, row]:
                continue
            anchor, own = embeddings[t, row], 0.0
            among = []
            for other in range(num_rows):
                if later[t, other]:
                    positive = embeddings[t + later[t, other], other]
                    among.append(math.exp(float(anchor @ positive) / temperature))
                    own = among[-1] if other == row else own
            losses[t, row] = -math.log(own / sum(among))
    return losses


def test_the_loss_is_that_of_a_plain_loop():
    embeddings = unit_vectors(7, 5, 3)
    resets = torch.rand(7, 5, generator=torch.Generator().manual_seed(2)) < 0.3
    uniform = torch.rand(7, 5, generator=torch.Generator().manual_seed(3))
    later = geometric_steps(uniform, steps_left(resets), 0.8)
    assert 0 < (later > 1).sum() < (later > 0).sum() < 35
    found = info_nce(embeddings, later, 0.1)
    torch.testing.assert_close(found, plain_info_nce(embeddings, later, 0.1))


def test_no_gradient_comes_from_steps_without_a_positive_nor_is_it_ever_nan():
    embeddings = unit_vectors(3, 2, 4).requires_grad_()
    info_nce(embeddings, torch.tensor([[0, 0], [0, 1], [0, 0]]), 0.1).sum().backward()
    assert not embeddings.grad.any()  # a single row has no negatives


def in_rows(experiment):
    """A prepared minibatch of all rows, and the algorithm."""
    algorithm, rollout = experiment.algorithm, collected(experiment)
    fill_values(experiment.policy, rollout)
    return algorithm.prepared(rows_of(rollout), None), algorithm


def test_it_changes_the_encoders_gradient_and_its_own_heads(make_experiment):
    experiment = make_experiment(*ON, "ppo.num_minibatches=1")
    rows, algorithm = in_rows(experiment)
    (contrastive,) = algorithm.auxiliary_losses
    encoder, head = experiment.policy.encoder[0].weight, experiment.policy.projection.weight
    loss = contrastive.loss_sum(rows, rows.evaluate(experiment.policy))
    by_encoder, by_head = torch.autograd.grad(loss, [encoder, head])
    assert by_encoder.norm() > 1e-3
    assert by_head.norm() > 1e-3
    # of features that are not live there would be no gradient
    assert any(p is head for p in algorithm.parameters)
    before = head.detach().clone()
    iterate(experiment)
    assert not torch.equal(head, before)


def test_dead_steps_take_no_part(make_experiment):
    experiment = make_experiment(*ON, *DEAD_STEPS, "ppo.num_minibatches=1")
    rows, _ = in_rows(experiment)
    assert not rows.valid.all()
    later = rows.extra["later"]
    assert not later[~rows.valid].any()
    places = torch.arange(64).unsqueeze(1) + later
    assert rows.valid.gather(0, places)[later > 0].all()


def test_off_nothing_is_drawn_or_allocated_and_updates_are_the_same_bits(
    make_experiment, monkeypatch
):
    monkeypatch.setattr(Contrastive, "__init__", lambda *_, **__: pytest.fail("it was made"))
    off, without = make_experiment(*LSTM, "contrastive.coef=0"), make_experiment(*LSTM)
    monkeypatch.undo()
    metrics = [iterate(one, 2) for one in (off, without)]
    assert metrics[0] == metrics[1]
    assert "loss/contrastive" not in metrics[0]
    assert torch.equal(off.policy.flat_parameters, without.policy.flat_parameters)
    assert not any("proj" in name for name in off.policy.state_dict())
    assert "contrastive" not in off.algorithm.state_dict()


@pytest.mark.parametrize("env", [(), DEAD_STEPS], ids=["own", "dead steps"])
def test_in_pieces_negatives_are_still_all_rows_of_the_minibatch(make_experiment, env):
    """So the update is the same, pieces of a single row included, which have no negatives."""
    options = (*ON, *env, "ppo.num_minibatches=2", "contrastive.coef=1")
    found = {}
    for size in (0, 1):
        experiment = make_experiment(*options, f"ppo.max_minibatch_size={size}")
        losses = [iterate(experiment)["loss/contrastive"] for _ in range(2)]
        found[size] = losses, experiment.policy.flat_parameters.clone()
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-4)
    assert found[0][0][0] > 0.1
    torch.testing.assert_close(found[1][1], found[0][1], atol=2e-5, rtol=1e-4)


def test_on_it_learns_to_tell_episodes_apart(make_experiment):
    experiment = make_experiment(
        *ON, "contrastive.coef=1", "ppo.learning_rate=1e-2", "num_envs=16",
        "ppo.num_minibatches=1", "total_env_steps=4000",
    )  # fmt: skip
    losses = [iterate(experiment)["loss/contrastive"] for _ in range(10)]
    # guessing among 16 rows has log 16 = 2.77
    assert losses[0] > 2.5
    assert all(0 < loss < 2.0 for loss in losses[-3:])
