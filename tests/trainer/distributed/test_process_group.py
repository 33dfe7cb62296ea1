"""The operations of a process group and what is computed by them, with threads as ranks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from operant.trainer.algorithms.off_policy import own_samples
from operant.trainer.distributed import reductions
from operant.trainer.distributed.process_group import LOCAL, Agreement, DistributedGroup
from operant.trainer.distributed.split import shares
from operant.trainer.distributed.states import broadcast_state
from operant.trainer.policies.normalizers import RunningMoments
from operant.trainer.returns import gae

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


def by_ranks(work: Callable[[DistributedGroup], Any]) -> list[Any]:
    """Results of `work` on each of three ranks."""
    parts, together = shares(SPLIT, NUM_ENVS, 3), Together(3)

    def of(rank: int) -> Any:
        return work(DistributedGroup(rank, parts, lambda tensor: together.all_reduce(rank, tensor)))

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(of, range(3)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool])
@pytest.mark.parametrize("agents", [1, 4])
def test_gathered_and_broadcast_tensors_keep_every_bit(dtype, agents):
    whole = torch.randn(5, NUM_ENVS * agents).mul(1e30).to(dtype)
    if whole.is_floating_point():
        whole[0, 0], whole[0, 1] = -0.0, torch.nan
    for found in by_ranks(lambda ranks: ranks.gather(ranks.my_slice(whole, 1), 1)):
        assert found.dtype == dtype
        assert found.numpy().tobytes() == whole.numpy().tobytes()
    tensors = [whole.clone(), torch.ones_like(whole), torch.zeros_like(whole)]
    for found in by_ranks(lambda ranks: ranks.broadcast(tensors[ranks.rank])):
        assert found.numpy().tobytes() == whole.numpy().tobytes()


def test_advantages_are_normalised_over_all_ranks():
    whole = torch.randn(7, NUM_ENVS) * 3 + 5
    expected = gae.normalized(whole.flatten()).view_as(whole)
    found = by_ranks(lambda ranks: reductions.normalize_advantages(ranks, ranks.my_slice(whole, 1)))
    torch.testing.assert_close(torch.cat(found, 1), expected)
    pieces = torch.tensor([7.0]).split([0, 1, 0])
    found = by_ranks(lambda ranks: reductions.normalize_advantages(ranks, pieces[ranks.rank]))
    assert [x.tolist() for x in found] == [[], [7.0], []]


def test_equal_samples_have_no_deviation_though_their_sums_are_rounded():
    # 3 samples of 0.1, whose sum of squares is a little less than the square of their sum over 3
    sums = torch.tensor([[3.0, 0.3, 0.0299999999999999]], dtype=torch.float64)
    ((count, mean, deviation),) = reductions.moments_of_sums(LOCAL, sums).tolist()
    assert (count, deviation) == (3, 0)
    assert mean == pytest.approx(0.1)


def test_explained_variance_is_that_of_all_ranks():
    returns, values = torch.randn(2, 7, NUM_ENVS, generator=torch.Generator().manual_seed(1))
    values = returns + values / 2
    expected = gae.explained_variance(returns, values)
    both = torch.stack([returns, values])
    for found in by_ranks(
        lambda ranks: reductions.explained_variance(ranks, *ranks.my_slice(both, 2))
    ):
        assert float(found) == pytest.approx(float(expected), rel=1e-5)
    constant = torch.ones(NUM_ENVS)
    found = by_ranks(lambda ranks: reductions.explained_variance(ranks, constant, constant))
    assert all(x.isnan() for x in found)


def test_statistics_take_in_the_samples_of_all_ranks():
    former, samples = torch.randn(10, 2) + 100, torch.randn(NUM_ENVS * 5, 2) * 3 + 100

    def taken_in(ranks, pieces):
        moments = RunningMoments(2)
        moments.update(former)
        moments.update_over(ranks, pieces)
        return moments

    expected = taken_in(LOCAL, [samples])
    for found in by_ranks(lambda ranks: taken_in(ranks, ranks.my_slice(samples).split(7))):
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

        local = work() if count else None
        summed = reductions.sum_gradient(ranks, count, local, like, 2)
        return summed, reductions.mean_gradient(ranks, count, work, like, 2)

    for (gradient, sums, count), (same_gradient, means) in by_ranks(summed):
        assert count == 6
        torch.testing.assert_close(gradient, torch.full((3,), (4 * 4 + 2 * 2) / 6))
        assert torch.equal(same_gradient, gradient)
        assert sums.tolist() == [2.0, 4.0]
        assert means.tolist() == [1.0, 2.0]


def test_a_minibatch_from_replay_is_that_of_all_ranks():
    gradients = torch.arange(6.0).unsqueeze(1) * torch.tensor([1.0, 10.0])  # of six samples

    def merged(ranks):
        samples = own_samples(6, ranks)
        assert len(samples) == 2
        own = gradients[samples.start : samples.stop]
        figures = {"loss": own[:, 0].mean(), "other": own[:, 1].mean().double()}
        return reductions.merge_batch(ranks, len(samples) / 6, own.mean(0), figures)

    for gradient, figures in by_ranks(merged):
        torch.testing.assert_close(gradient, torch.tensor([2.5, 25.0]))
        assert {name: float(x) for name, x in figures.items()} == {"loss": 2.5, "other": 25.0}


@pytest.mark.parametrize("batch_size", [3, 7, 8])
def test_a_minibatch_is_divided_among_ranks_without_a_rest(batch_size):
    samples = by_ranks(lambda ranks: own_samples(batch_size, ranks))
    assert [number for own in samples for number in own] == list(range(batch_size))
    assert max(map(len, samples)) - min(map(len, samples)) <= 1


def test_any_rank_stops_all_and_rank_0_alone_saves():
    same = torch.zeros(2)

    def agreed(ranks, stops, saves):
        return ranks.agree(ranks.rank == stops, ranks.rank == saves, same)

    assert set(by_ranks(lambda ranks: agreed(ranks, 2, 0))) == {Agreement(True, True)}
    assert set(by_ranks(lambda ranks: agreed(ranks, None, 1))) == {Agreement(False, False)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_networks_that_were_rounded_otherwise_are_those_of_rank_0_again(dtype):
    def corrected(ranks):
        networks = [torch.ones(3, dtype=dtype), torch.linspace(0, 1, 5, dtype=dtype)]
        networks[1][3] += (0, 1e-6, -1e-6)[ranks.rank]
        ranks.agree(False, False, *networks)
        return networks

    for first, second in by_ranks(corrected):
        assert torch.equal(first, torch.ones(3, dtype=dtype))
        assert torch.equal(second, torch.linspace(0, 1, 5, dtype=dtype))


def test_the_state_of_rank_0_is_broadcast():
    state = {"state": {"weights": torch.arange(5)}, "iteration": 7}

    def told(ranks):
        return broadcast_state(ranks, None if ranks.rank else state)

    for found in by_ranks(told):
        assert found["iteration"] == 7
        assert torch.equal(found["state"]["weights"], torch.arange(5))
    assert by_ranks(lambda ranks: broadcast_state(ranks, None)) == [None] * 3
