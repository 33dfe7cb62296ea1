"""Gradient and weight statistics match numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learning import iterate

from operant.trainer.running.inspection.inspection import (
    analysed,
    effective_rank,
    gradient_statistics,
    layer_statistics,
)


def test_a_gradients_mean_variance_and_norm_are_of_all_networks_together():
    # 1, 2 and 3: mean 2, squares of what differs 1, 0, 1; 1 + 4 + 9 = 14
    figures = gradient_statistics([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    assert figures["gradient/mean"] == 2
    assert figures["gradient/variance"] == pytest.approx(2 / 3)
    assert figures["gradient/norm"] == pytest.approx(math.sqrt(14))
    assert gradient_statistics([]) == {}


def test_the_effective_rank_counts_singular_values_that_matter_alike():
    assert effective_rank(torch.tensor([2.0, 2.0, 2.0])) == pytest.approx(3)
    assert effective_rank(torch.tensor([5.0, 0.0])) == pytest.approx(1)
    # p = 3/4 and 1/4: exp(-(3/4 ln 3/4 + 1/4 ln 1/4)) = 4 / 3^(3/4)
    assert effective_rank(torch.tensor([3.0, 1.0])) == pytest.approx(4 / 3**0.75)
    assert effective_rank(torch.zeros(3)) == 0


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**31))
def test_a_layers_statistics_are_those_of_its_matrix(rows, columns, seed):
    weights = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))
    found = layer_statistics(weights)
    singular = np.linalg.svd(weights.double().numpy(), compute_uv=False)
    assert found["largest_singular_value"] == pytest.approx(singular[0], rel=1e-6)
    assert found["norm"] == pytest.approx(float(weights.double().norm()), rel=1e-6)
    assert 0 < found["rank_fraction"] <= 1 + 1e-9


def test_weights_that_are_no_numbers_are_said_to_be_such():
    metrics, layers = analysed({"a": torch.full((2, 2), math.nan), "bias": torch.ones(2)})
    assert math.isnan(layers["a"]["effective_rank"])
    assert math.isnan(metrics["weights/norm"])
    assert list(layers) == ["a"]


@pytest.mark.parametrize(
    "overrides",
    [(), ("policy.precision=bfloat16",), ("algorithm=pqn",), ("algorithm=dqn",),
     ("env=pendulum", "algorithm=sac")],
    ids=["compiled", "pytorch", "pqn", "dqn", "sac"],
)  # fmt: skip
def test_every_algorithm_has_its_last_gradient_at_hand(make_experiment, overrides):
    section = "sac" if "algorithm=sac" in overrides else "dqn"
    if overrides and ("dqn" in overrides[0] or section == "sac"):
        overrides += (f"{section}.warmup_env_steps=64", f"{section}.batch_size=64",
                      f"{section}.updates_per_env_step=0.0625")  # fmt: skip
    experiment = make_experiment(*overrides)
    iterate(experiment, 2)
    optimizers = experiment.algorithm.optimizers
    assert optimizers
    for optimizer in optimizers:
        assert optimizer.gradient.shape == optimizer.mean.shape
        assert optimizer.gradient.abs().max() > 0


def test_the_last_gradient_is_the_one_that_was_taken(make_experiment):
    """Adam's first moment after one step is a tenth of it."""
    experiment = make_experiment("ppo.num_epochs=1", "ppo.num_minibatches=1")
    iterate(experiment)
    optimizer = experiment.algorithm.optimizer
    torch.testing.assert_close(optimizer.mean, 0.1 * optimizer.gradient)
