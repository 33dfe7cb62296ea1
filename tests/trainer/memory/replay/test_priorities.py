"""Draws by priorities: exact probabilities, weights, updates."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from replay_checks import Stream, make_replay
from replay_draws import chi_squared_of_draws, replay_with, unreachable_rows

from operant.shared.errors import ConfigError
from operant.trainer.memory.replay import Priorities
from operant.trainer.memory.replay.priorities import leaf_at
from operant.trainer.running.saving import copied_state

ENGINES = pytest.mark.parametrize("with_kernels", [False, True], ids=["loops", "kernels"])


def linear(**settings: object):
    """A replay of four rows whose priorities are their errors, all but exactly."""
    return make_replay(8, 1, priorities=Priorities(alpha=1.0, eps=1e-9), **settings)


def with_rows(num_rows: int, **settings: object):
    replay = linear(**settings)
    replay.write(Stream(1).rollout(num_rows, 0, 0, 0))
    return replay


@ENGINES
def test_weights_are_one_over_n_p_to_the_beta_over_the_largest(with_kernels):
    replay = with_rows(4, with_kernels=with_kernels)
    replay.update_priorities(torch.arange(4), torch.tensor([1.0, 2.0, 4.0, 1.0]))
    # P = 1/8, 1/4, 1/2, 1/8; of shares 1/16, 3/16, ... the rows are 0, 1, 2, 2, 3 in order
    batch = replay.sample(replay.make_batch(64), 0.5)
    assert batch.index.bincount().tolist() == [8, 16, 32, 8]
    # (4 P)^-0.5 = 2^0.5, 1, 2^-0.5, 2^0.5, of which the largest is 2^0.5
    wanted = torch.tensor([1.0, 0.5**0.5, 0.5, 1.0])[batch.index]
    assert torch.allclose(batch.weights, wanted)
    assert (replay.sample(batch, 0.0).weights == 1).all()


@ENGINES
def test_of_a_row_drawn_twice_the_larger_error_counts(with_kernels):
    replay = with_rows(4, with_kernels=with_kernels)
    for index, errors in (([0, 1, 0], [1.0, 2.0, -5.0]), ([0, 1, 0], [-5.0, 2.0, 1.0])):
        replay.update_priorities(torch.tensor(index), torch.tensor(errors))
        assert replay._sums.leaves[:5].tolist() == [5.0, 2.0, 1.0, 1.0, 0.0]


@ENGINES
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_an_update_with_an_error_that_is_no_number_changes_nothing_and_is_counted(
    with_kernels, bad
):
    replay = with_rows(4, with_kernels=with_kernels)
    replay.update_priorities(torch.arange(4), torch.tensor([1.0, 2.0, 4.0, 1.0]))
    before = copied_state(replay.state_dict())
    replay.update_priorities(torch.arange(4), torch.tensor([9.0, 9.0, bad, 9.0]))
    assert replay.num_refused == 1
    after = replay.state_dict()
    assert after.pop("num_refused") == before.pop("num_refused") + 1
    assert all(torch.equal(after[name], before[name]) for name in after)
    assert replay.sample(replay.make_batch(8)).weights.isfinite().all()


@ENGINES
def test_new_rows_have_the_largest_priority_so_far(with_kernels):
    replay = linear(with_kernels=with_kernels)
    stream = Stream(1)
    replay.write(stream.rollout(2, 0, 0, 0))
    replay.update_priorities(torch.tensor([0]), torch.tensor([7.0]))
    replay.update_priorities(torch.tensor([0]), torch.tensor([3.0]))
    replay.write(stream.rollout(2, 0, 0, 0))
    assert replay._sums.leaves[:5].tolist() == [3.0, 1.0, 7.0, 7.0, 0.0]


@ENGINES
def test_an_update_gives_no_priority_to_what_is_never_drawn(with_kernels):
    replay = linear(with_kernels=with_kernels)
    replay.write(Stream(1).rollout(4, 0, 0, dies=1.0))
    replay.update_priorities(torch.arange(8), torch.ones(8))
    assert (replay._sums.leaves == 0).all()


@ENGINES
def test_sums_are_those_of_the_leaves_whatever_came_before(with_kernels):
    replay = make_replay(3 * 2000, 3, priorities=Priorities(), n_step=3, with_kernels=with_kernels)
    stream, batch = Stream(3), replay.make_batch(500)
    random = torch.Generator().manual_seed(1)
    for steps in (1, 700, 1, 1500, 300, 64, 1):
        replay.write(stream.rollout(steps))
        replay.sample(batch)
        replay.update_priorities(batch.index, torch.randn(500, generator=random).exp())
    leaves, parts, blocks = replay._sums.leaves.double(), replay._sums.parts, replay._sums.blocks
    # exact to the bit in the loops; the kernels, compiled here, may regroup
    assert torch.allclose(parts, leaves.view(-1, 32).sum(1), rtol=1e-14)
    assert torch.allclose(blocks[: len(leaves) // 1024], leaves.view(-1, 1024).sum(1), rtol=1e-14)
    assert (blocks[len(leaves) // 1024 :] == 0).all()


@pytest.mark.parametrize("tail", [0.0, 1.0, 4.0], ids=["equal", "log-normal", "heavy-tailed"])
def test_a_million_draws_have_the_exact_probabilities(tail):
    chi_squared, freedom = chi_squared_of_draws(1000, tail, num_draws=1_000_000)
    # stratified draws spread less than independent ones: a sum far below is no fault
    assert chi_squared < freedom + 4.3 * (2 * freedom) ** 0.5


def test_every_row_can_be_drawn():
    assert unreachable_rows(replay_with(100_000, tail=2.0)) == 0


def test_no_draw_falls_beyond_the_rows_or_on_one_without_priority():
    replay = replay_with(5000, tail=4.0)
    replay._sums.leaves[torch.rand(len(replay._sums.leaves)) < 0.9] = 0.0
    replay._engine.sum_all()
    batch = replay.make_batch(100_000)
    for _ in range(3):
        assert (replay._sums.leaves[replay.sample(batch).index] > 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": float("nan")}, "priorities.alpha = nan"),
        ({"eps": 0.0}, "priorities.eps = 0.0 is not above 0"),
    ],
)
def test_priorities_that_could_lose_rows_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Priorities(**settings)


def test_the_largest_error_there_is_has_a_finite_priority():
    replay = with_rows(4)
    largest = float(np.finfo(np.float32).max)
    replay.update_priorities(torch.arange(4), torch.full((4,), largest))
    assert replay.num_refused == 0
    assert (replay.sample(replay.make_batch(64)).weights == 1).all()


def test_the_first_share_falls_on_the_first_row_with_a_priority():
    replay = replay_with(5000, tail=1.0)
    replay._sums.leaves[:3000] = 0.0
    replay._engine.sum_all()
    replay.sample(replay.make_batch(1))  # makes the cumulative sums
    sums = type(replay._sums)(*(x.numpy() for x in replay._sums))
    assert leaf_at(0.0, sums) == 3000
