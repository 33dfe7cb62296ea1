"""Lambda returns of action values, with literal numbers."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.returns.q_lambda import q_lambda


def column(*numbers):
    return torch.tensor(numbers).unsqueeze(1)


def returns_of(rewards, next_values, terminated, truncated, gamma=0.5, lambda_=0.5):
    returns = q_lambda(
        column(*rewards), column(*next_values), column(*terminated), column(*truncated),
        gamma, lambda_,
    )  # fmt: skip
    return returns.squeeze(1).tolist()


NO, YES = (False, False), (True, False)


def test_returns_mix_what_follows_with_the_best_value():
    # t=1: 2 + 0.5 * 4 = 4, from the rollout's end; t=0: 1 + 0.5 * (0.5 * 4 + 0.5 * 8) = 4
    assert returns_of((1.0, 2.0), (8.0, 4.0), NO, NO) == [4.0, 4.0]


def test_lambda_0_is_one_step_and_lambda_1_the_sum_of_rewards_to_the_end():
    # t=1: 2 + 0.5 * 4 = 4; with lambda 0, t=0: 1 + 0.5 * 8 = 5; with lambda 1: 1 + 0.5 * 4 = 3
    assert returns_of((1.0, 2.0), (8.0, 4.0), NO, NO, lambda_=0.0) == [5.0, 4.0]
    assert returns_of((1.0, 2.0), (8.0, 4.0), NO, NO, lambda_=1.0) == [3.0, 4.0]


def test_an_end_drops_the_best_value_and_what_follows():
    # t=0 ended: 1 alone
    assert returns_of((1.0, 2.0), (8.0, 4.0), YES, NO) == [1.0, 4.0]
    # ended and cut in the same step: the end counts
    assert returns_of((1.0, 2.0), (8.0, 4.0), YES, YES) == [1.0, 4.0]


def test_a_time_limit_keeps_the_best_value_and_drops_what_follows():
    # t=0: 1 + 0.5 * 8 = 5, and nothing of the next episode's 4
    assert returns_of((1.0, 2.0), (8.0, 4.0), NO, YES) == [5.0, 4.0]


def test_shapes_that_differ_are_told():
    flags = torch.zeros(2, 1, dtype=torch.bool)
    with pytest.raises(ValueError, match="q_lambda: shapes differ"):
        q_lambda(torch.zeros(2, 1), torch.zeros(3, 1), flags, flags, 0.9, 0.5)
