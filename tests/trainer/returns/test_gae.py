"""Advantages by hand, and against the definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from operant.trainer.returns.gae import gae


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values).unsqueeze(1)


flags = column


def test_a_time_limit_keeps_the_bootstrap_and_stops_the_sum():
    advantages, returns = gae(
        rewards=column(1.0, 5.0),
        values=column(0.5, 0.0),
        next_values=column(4.0, 0.0),
        terminated=flags(False, True),
        truncated=flags(True, False),
        gamma=0.5,
        gae_lambda=1.0,
    )
    # t=1: 5 + 0 - 0 = 5;  t=0: 1 + 0.5 * 4 - 0.5 = 2.5, and nothing flows back from t=1
    assert advantages.squeeze(1).tolist() == [2.5, 5.0]
    assert returns.squeeze(1).tolist() == [3.0, 5.0]


def test_the_end_of_the_task_drops_what_would_have_followed():
    advantages, _ = gae(
        column(1.0), column(0.5), column(100.0), flags(True), flags(False), 0.9, 0.95
    )
    assert advantages.item() == 0.5


def test_the_last_step_of_a_rollout_bootstraps_from_where_it_led():
    advantages, _ = gae(
        column(1.0), column(0.5), column(10.0), flags(False), flags(False), 0.9, 0.95
    )
    assert advantages.item() == pytest.approx(1 + 0.9 * 10 - 0.5)


def test_nothing_leaks_from_one_episode_into_the_one_before():
    # Episodes of two steps that pay +1 and -1 in turn, and values that know it.
    pays = [1.0, 1.0, -1.0, -1.0, 1.0, 1.0]
    ends = [False, True] * 3
    values = column(*(2 * pay if t % 2 == 0 else pay for t, pay in enumerate(pays)))
    following = torch.cat([values[1:], column(-2.0)])
    advantages, returns = gae(
        column(*pays), values, following, flags(*ends), flags(*[False] * 6), 1.0, 1.0
    )
    assert advantages.abs().max() == 0
    assert returns.squeeze(1).tolist() == [2.0, 1.0, -2.0, -1.0, 2.0, 1.0]


def by_definition(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    """The sum over l of (gamma lambda)^l delta_t+l, to the end of the episode."""
    steps, num_envs = rewards.shape
    advantages = np.zeros((steps, num_envs))
    for n in range(num_envs):
        for t in range(steps):
            weight = 1.0
            for k in range(t, steps):
                bootstrap = 0.0 if terminated[k, n] else gamma * next_values[k, n]
                advantages[t, n] += weight * (rewards[k, n] + bootstrap - values[k, n])
                weight *= gamma * gae_lambda
                if terminated[k, n] or truncated[k, n]:
                    break
    return advantages


@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 12),
    num_envs=st.integers(1, 4),
    gamma=st.floats(0, 1),
    gae_lambda=st.floats(0, 1),
    ends=st.floats(0, 0.6),
)
def test_it_is_the_sum_that_the_paper_defines(seed, steps, num_envs, gamma, gae_lambda, ends):
    random = np.random.default_rng(seed)
    rewards, values, next_values = random.normal(size=(3, steps, num_envs))
    terminated = random.random((steps, num_envs)) < ends / 2
    truncated = (random.random((steps, num_envs)) < ends / 2) & ~terminated
    arguments = (rewards, values, next_values, terminated, truncated)
    advantages, returns = gae(*map(torch.from_numpy, arguments), gamma, gae_lambda)
    expected = by_definition(*arguments, gamma, gae_lambda)
    np.testing.assert_allclose(advantages.numpy(), expected, atol=1e-9)
    np.testing.assert_allclose(returns.numpy(), expected + values, atol=1e-9)


def test_shapes_that_differ_are_refused():
    with pytest.raises(ValueError, match="shapes differ"):
        gae(column(1.0), column(1.0, 2.0), column(1.0), flags(False), flags(False), 0.9, 0.9)
