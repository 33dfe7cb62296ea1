"""A rollout on the device is the one of the compiled loops: same actions, same transitions."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from learning import collected

from operant.trainer.collecting.on_gpu import CudaCollector
from operant.trainer.policies.normalizers import observe

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.mark.parametrize("normalize", ["true", "false"])
def test_it_is_the_rollout_of_the_compiled_collector(
    make_experiment, make_cuda_experiment, normalize
):
    overrides = ["num_envs=70", "ppo.num_minibatches=1", f"normalization.obs={normalize}"]
    compiled, device = make_experiment(*overrides), make_cuda_experiment(*overrides)
    # Some of the first episodes are cut by the time limit.
    compiled.collector.envs.state.elapsed[::2] = compiled.collector.envs.spec.max_episode_steps - 5
    device.collector.envs.state.elapsed[::2] = compiled.collector.envs.spec.max_episode_steps - 5
    for _ in range(3):
        expected, found = collected(compiled), collected(device)
        assert (found.actions == expected.actions).all()
        names = ("obs", "rewards", "terminated", "truncated", "log_probs", "values", "next_values")
        for name in names:
            torch.testing.assert_close(getattr(found, name), getattr(expected, name), **CLOSE)
        for experiment in (compiled, device):
            observe(experiment.policy.normalizer, [expected.obs.flatten(0, 1)])
    expected, found = (e.collector.take_episode_totals() for e in (compiled, device))
    assert expected.tolist() == found.tolist()


@pytest.mark.parametrize(("steps", "room"), [(1, 1), (4, 1), (5, 2), (16, 4), (17, 5)])
def test_there_is_room_for_every_time_limit_of_a_rollout(make_cuda_experiment, steps, room):
    experiment = make_cuda_experiment()
    envs = experiment.collector.envs
    envs.spec = replace(envs.spec, max_episode_steps=4)
    # An episode that is cut at step 0 is followed by others that are cut every 4 steps.
    assert len(CudaCollector(envs, experiment.policy, steps).rollout.final_obs) == room


def test_several_time_limits_in_one_environment_keep_their_order(make_cuda_experiment):
    overrides = ["num_envs=1", "rollout_steps=6", "ppo.num_minibatches=1"]
    rollout = make_cuda_experiment(*overrides).collector.rollout
    rollout.truncated[[1, 4]] = True
    rollout.final_obs = torch.tensor([10.0, 20.0]).view(2, 1, 1).expand(2, 1, 4)
    rollout.obs.zero_()
    _, next_values = rollout.values_by(lambda obs: obs[:, 0])
    assert next_values.squeeze(1).tolist() == [0.0, 10.0, 0.0, 0.0, 20.0, 0.0]


@pytest.mark.slow
def test_every_distribution_acts_as_in_the_compiled_collector(
    make_experiment, make_cuda_experiment, any_distribution
):
    overrides = [any_distribution, "num_envs=30", "ppo.num_minibatches=1"]
    compiled, device = make_experiment(*overrides), make_cuda_experiment(*overrides)
    fused = make_cuda_experiment(*overrides, "rollout=fused")
    for _ in range(2):
        expected = compiled.collector.collect()
        for experiment in (device, fused):
            experiment.collector.collect()
            found = experiment.collector.rollout
            for name in ("actions", "obs", "rewards", "terminated", "truncated", "log_probs"):
                torch.testing.assert_close(
                    getattr(found, name), getattr(expected, name), rtol=1e-3, atol=1e-4
                )
