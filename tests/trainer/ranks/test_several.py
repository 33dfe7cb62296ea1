"""What ranks compute together, by threads that stand for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from operant.trainer.networks.normalizers import RunningMoments
from operant.trainer.ranks.several import Several
from operant.trainer.ranks.single import SINGLE, Agreement
from operant.trainer.ranks.split import shares
from operant.trainer.returns.variances import explained_variance, normalized

SPLIT, NUM_ENVS = "3:2:1", 6


class Together:
    """Adds up what as many threads bring."""

    def __init__(self, size: int) -> None:
        self._barrier, self._brought = threading.Barrier(size, timeout=20), [torch.zeros(0)] * size

    def all_reduce(self, rank: int, tensor: Tensor) -> None:
        self._brought[rank] = tensor.clone()
        self._barrier.wait()
        found = torch.stack(self._brought).sum(0)
        self._barrier.wait()
        tensor.copy_(found)


def by_ranks(work: Callable[[Several], Any]) -> list[Any]:
    """What `work` gives for each of three ranks."""
    parts, together = shares(SPLIT, NUM_ENVS, 3), Together(3)

    def of(rank: int) -> Any:
        return work(Several(rank, parts, lambda tensor: together.all_reduce(rank, tensor)))

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(of, range(3)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
@pytest.mark.parametrize("agents", [1, 4])
def test_parts_come_together_to_the_bit(dtype, agents):
    whole = torch.randn(5, NUM_ENVS * agents).mul(1e30).to(dtype)
    if whole.is_floating_point():
        whole[0, 0], whole[0, 1] = -0.0, torch.nan
    for found in by_ranks(lambda ranks: ranks.gathered(ranks.own_part(whole, 1), 1)):
        assert found.dtype == dtype
        assert found.numpy().tobytes() == whole.numpy().tobytes()


def test_sizes_are_those_of_the_environments():
    assert by_ranks(lambda ranks: ranks.own_size(12)) == [6, 4, 2]
    assert by_ranks(lambda ranks: ranks.whole_size(ranks.own_size(12))) == [12, 12, 12]


def test_advantages_are_normalised_over_all_ranks():
    whole = torch.randn(7, NUM_ENVS) * 3 + 5
    expected = normalized(whole.flatten()).view_as(whole)
    found = by_ranks(lambda ranks: ranks.normalized(ranks.own_part(whole, 1)))
    torch.testing.assert_close(torch.cat(found, 1), expected)
    one = torch.tensor([7.0])
    found = by_ranks(lambda ranks: ranks.normalized(one if ranks.rank == 1 else one[:0]))
    assert [x.tolist() for x in found] == [[], [7.0], []]


def test_explained_variance_is_that_of_all_ranks():
    returns, values = torch.randn(2, 7, NUM_ENVS)
    values += returns
    expected = explained_variance(returns, values)
    for found in by_ranks(
        lambda ranks: ranks.explained_variance(
            ranks.own_part(returns, 1), ranks.own_part(values, 1)
        )
    ):
        assert float(found) == pytest.approx(float(expected), rel=1e-5)
    constant = torch.ones(NUM_ENVS)
    found = by_ranks(lambda ranks: ranks.explained_variance(constant, constant))
    assert all(x.isnan() for x in found)


def test_statistics_take_in_the_samples_of_all_ranks():
    former, samples = torch.randn(10, 2) + 100, torch.randn(NUM_ENVS * 5, 2) * 3 + 100

    def taken_in(ranks, pieces):
        moments = RunningMoments(2)
        moments.update(former)
        ranks.take_in(moments, pieces)
        return moments

    expected = taken_in(SINGLE, [samples])
    for found in by_ranks(lambda ranks: taken_in(ranks, ranks.own_part(samples).split(7))):
        for name, value in expected.state_dict().items():
            torch.testing.assert_close(found.state_dict()[name], value, rtol=1e-12, atol=1e-12)
    (one, *_) = by_ranks(lambda ranks: taken_in(ranks, []))
    assert float(one.count) == 10


def test_a_rank_without_samples_computes_nothing():
    like = torch.zeros(3)

    def summed(ranks):
        count = (4, 0, 2)[ranks.rank]

        def work():
            assert count
            return torch.full((3,), float(count)), torch.tensor([1.0, 2.0])

        return ranks.sum_of(count, work, like, 2), ranks.mean_of(count, work, like, 2)

    for (gradient, sums, count), (mean_gradient, means) in by_ranks(summed):
        assert count == 6
        torch.testing.assert_close(gradient, torch.full((3,), (4 * 4 + 2 * 2) / 6))
        assert torch.equal(mean_gradient, gradient)
        assert sums.tolist() == [2.0, 4.0]
        assert means.tolist() == [1.0, 2.0]


def test_any_rank_stops_all_and_rank_0_alone_saves():
    same = torch.zeros(2)

    def agreed(ranks, stops, saves):
        return ranks.agreed(ranks.rank == stops, ranks.rank == saves, same)

    assert set(by_ranks(lambda ranks: agreed(ranks, 2, 0))) == {Agreement(True, True)}
    assert set(by_ranks(lambda ranks: agreed(ranks, None, 1))) == {Agreement(False, False)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parameters_that_were_rounded_otherwise_are_those_of_rank_0_again(dtype):
    def corrected(ranks):
        parameters = torch.linspace(0, 1, 5, dtype=dtype)
        if ranks.rank == 1:
            parameters[3] += 1e-6
        if ranks.rank == 2:
            parameters[3] -= 1e-6
        ranks.agreed(False, False, parameters)
        return parameters

    for found in by_ranks(corrected):
        assert torch.equal(found, torch.linspace(0, 1, 5, dtype=dtype))


def test_the_state_of_rank_0_is_told():
    state = {"state": {"weights": torch.arange(5)}, "iteration": 7}

    def told(ranks):
        return ranks.told_by_first(None if ranks.rank else state)

    for found in by_ranks(told):
        assert found["iteration"] == 7
        assert torch.equal(found["state"]["weights"], torch.arange(5))
    assert by_ranks(lambda ranks: ranks.told_by_first(None)) == [None] * 3
