"""What ranks compute together, by threads that stand for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
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


def test_a_minibatch_from_replay_is_that_of_all_ranks():
    numbers = [[1, 4, 5], [], [0, 2, 3]]  # which of six samples each has; the second none
    gradients = torch.arange(6.0).unsqueeze(1) * torch.tensor([1.0, 10.0])

    def merged(ranks):
        here = numbers[ranks.rank]
        places = torch.tensor(here or [0])
        batch = SimpleNamespace(
            index=torch.zeros(6, dtype=torch.int64), numbers=places, num_here=len(here)
        )
        # What is there where nothing is counts for nothing, not even as what is not a number.
        own = gradients[places] if here else torch.full((1, 2), torch.nan)
        figures = {"loss": own[:, 0].mean(), "other": own[:, 1].mean()}
        return ranks.mean_of_batch(batch, own.mean(0), figures, own[:, 0])

    for gradient, figures, each in by_ranks(merged):
        torch.testing.assert_close(gradient, torch.tensor([2.5, 25.0]))
        assert {name: float(x) for name, x in figures.items()} == {"loss": 2.5, "other": 25.0}
        assert each.tolist() == [0, 1, 2, 3, 4, 5]


def test_what_each_rank_has_is_told_to_all():
    found = by_ranks(lambda ranks: ranks.each(torch.tensor([ranks.rank, -torch.inf])))
    for each in found:
        assert each.tolist() == [[0, -torch.inf], [1, -torch.inf], [2, -torch.inf]]


def test_any_rank_stops_all_and_rank_0_alone_saves():
    same = torch.zeros(2)

    def agreed(ranks, stops, saves):
        return ranks.agreed(ranks.rank == stops, ranks.rank == saves, same)

    assert set(by_ranks(lambda ranks: agreed(ranks, 2, 0))) == {Agreement(True, True)}
    assert set(by_ranks(lambda ranks: agreed(ranks, None, 1))) == {Agreement(False, False)}


def test_all_networks_are_those_of_rank_0_again():
    def corrected(ranks):
        networks = [torch.ones(3), torch.zeros(2)]
        networks[1] += 1e-3 * ranks.rank
        ranks.agreed(False, False, *networks)
        return networks

    for first, second in by_ranks(corrected):
        assert torch.equal(first, torch.ones(3))
        assert torch.equal(second, torch.zeros(2))


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
