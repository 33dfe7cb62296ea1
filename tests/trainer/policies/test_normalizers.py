"""Running statistics are those of all samples, however they came."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from operant.trainer.distributed.process_group import LOCAL
from operant.trainer.policies.normalizers import (
    CLIP,
    ObsNormalizer,
    RewardNormalizer,
    Rewards,
    RunningMoments,
    discount,
    discount_tensors,
)


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    offset=st.floats(-1e6, 1e6),
)
def test_merged_moments_are_those_of_all_samples_at_once(seed, sizes, offset):
    samples = np.random.default_rng(seed).normal(offset, 3.0, size=(sum(sizes), 2))
    moments = RunningMoments(2)
    for part in np.split(samples, np.cumsum(sizes)[:-1]):
        moments.update(torch.from_numpy(part))
    np.testing.assert_allclose(moments.mean, samples.mean(0), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(moments.variance, samples.var(0), rtol=1e-6, atol=1e-6)
    assert moments.count == len(samples)


def test_observations_are_normalised_and_then_clipped():
    normalizer = ObsNormalizer(1)
    normalizer.moments.update(torch.tensor([[1.0], [3.0]]))
    seen = normalizer(torch.tensor([[2.0], [3.0], [1e6]])).squeeze(1)
    torch.testing.assert_close(seen, torch.tensor([0.0, 1.0, CLIP]))


def test_dead_transitions_are_in_no_statistics():
    rewards = torch.tensor([[1.0], [99.0], [3.0]])
    dones, valid = torch.tensor([[True], [False], [True]]), torch.tensor([[True], [False], [True]])
    masked, without = RewardNormalizer(1, gamma=0.5), RewardNormalizer(1, gamma=0.5)
    found = masked.normalized(rewards, dones, valid)
    expected = without.normalized(rewards[[0, 2]], dones[[0, 2]])
    torch.testing.assert_close(found[[0, 2]], expected)
    assert masked.moments.count == 2


def test_rewards_are_divided_by_the_deviation_of_the_return_and_keep_their_mean():
    rewards = torch.tensor([[1.0], [2.0], [4.0]])
    dones = torch.tensor([[False], [True], [False]])
    normalizer = RewardNormalizer(1, gamma=0.5)
    scaled = normalizer.normalized(rewards, dones)
    returns = np.array([1.0, 0.5 * 1.0 + 2.0, 4.0])  # the end at t=1 starts the sum anew
    np.testing.assert_allclose(scaled, rewards / returns.std(), rtol=1e-6)
    # The sum goes on into the next rollout.
    normalizer.normalized(torch.tensor([[1.0]]), torch.tensor([[False]]))
    assert normalizer.returns.item() == 0.5 * 4.0 + 1.0


def test_returns_of_tensors_are_those_of_the_compiled_loop():
    generator = torch.Generator().manual_seed(1)
    rewards = torch.randn(20, 3, generator=generator)
    dones = torch.rand(20, 3, generator=generator) < 0.2
    found, expected = ([torch.ones(3).double(), torch.empty(20, 3).double()] for _ in range(2))
    discount_tensors(rewards, dones, 0.9, *found)
    discount(rewards.numpy(), dones.numpy(), 0.9, *(x.numpy() for x in expected))
    torch.testing.assert_close(found, expected)


def test_no_samples_change_nothing():
    moments = RunningMoments(2)
    moments.update(torch.zeros(0, 2))
    assert (moments.count, moments.mean.tolist(), moments.variance.tolist()) == (0, [0, 0], [1, 1])
    moments.update(torch.tensor([[1.0, 2.0], [3.0, 2.0]]))
    moments.update(torch.zeros(0, 2))
    assert (moments.mean.tolist(), moments.variance.tolist()) == ([2.0, 2.0], [1.0, 0.0])


def test_the_return_of_an_episode_that_is_no_more_is_forgotten():
    rewards = Rewards(2, 0.5, limit=0.0, normalizes=True, device=torch.device("cpu"), ranks=LOCAL)
    rewards.normalizer.normalized(torch.ones(1, 2), torch.zeros(1, 2, dtype=torch.bool))
    rewards.forget_episodes()
    assert rewards.normalizer.returns.tolist() == [0.0, 0.0]
