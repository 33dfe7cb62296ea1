"""The fused rollout is the one that is gathered step by step."""

from __future__ import annotations

import kernel_checks
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.collecting.fused import FusedCollector


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["normalization.obs=true"],
        ["policy.activation=relu", "policy.hidden_sizes=[5, 7, 9]"],
        ["policy.hidden_sizes=[]"],
    ],
    ids=["default", "normalized", "relu", "linear"],
)
def test_it_is_the_rollout_gathered_step_by_step(make_cuda_experiment, overrides):
    kernel_checks.check_fused(make_cuda_experiment, ["num_envs=40", *overrides])


def test_a_network_too_large_for_shared_memory_is_refused(make_cuda_experiment):
    experiment = make_cuda_experiment("policy.hidden_sizes=[128, 128]")
    with pytest.raises(ConfigError, match="rollout = steps takes any"):
        FusedCollector(experiment.collector.envs, experiment.policy, 4)
