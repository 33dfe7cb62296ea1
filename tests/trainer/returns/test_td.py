"""Targets of bootstrapped steps, with literal numbers."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.returns.td import soft_value, td_target


def test_a_target_is_the_rewards_so_far_and_what_follows_unless_the_task_ended():
    # 1 + 0.5 * 4 = 3; three steps: 2 + 0.125 * 8 = 3; ended: 5 alone, whatever is said of after
    targets = td_target(
        returns=torch.tensor([1.0, 2.0, 5.0]),
        discounts=torch.tensor([0.5, 0.125, 0.0]),
        next_values=torch.tensor([4.0, 8.0, 100.0]),
    )
    assert targets.tolist() == [3.0, 3.0, 5.0]


def test_a_soft_value_is_the_smaller_critics_and_pays_for_certainty():
    values = torch.tensor([[1.0, 4.0], [3.0, 2.0]])
    log_probs = torch.tensor([0.5, -1.0])
    # min 1 and 2; - 0.2 * 0.5 = -0.1 and - 0.2 * -1 = +0.2
    expected = pytest.approx([0.9, 2.2])
    assert soft_value(values, log_probs, 0.2).tolist() == expected
    assert soft_value(values, log_probs, torch.tensor(0.2)).tolist() == expected
