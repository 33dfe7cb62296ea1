"""A rollout on the device is the one of the compiled loops: same actions, same transitions."""

from __future__ import annotations

import math

import pytest
import torch

from operant.trainer.advantages import gae
from operant.trainer.cuda.advantages import write_advantages
from operant.trainer.cuda.rollout import CudaRollout
from operant.trainer.stopwatch import Stopwatch

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.mark.parametrize("normalize", ["true", "false"])
def test_it_is_the_rollout_of_the_compiled_collector(
    make_experiment, make_cuda_experiment, normalize
):
    overrides = ["num_envs=70", "ppo.num_minibatches=1", f"normalization.obs={normalize}"]
    compiled, device = make_experiment(*overrides), make_cuda_experiment(*overrides)
    # Some of the first episodes are cut by the time limit.
    compiled.envs.state.elapsed[::2] = compiled.spec.max_episode_steps - 5
    device.envs.state.elapsed[::2] = compiled.spec.max_episode_steps - 5
    for _ in range(3):
        expected, found = compiled.collector.collect(), device.collector.rollout
        device.collector.collect()
        assert (found.actions == expected.actions).all()
        for name in ("obs", "rewards", "terminated", "truncated", "log_probs"):
            torch.testing.assert_close(getattr(found, name), getattr(expected, name), **CLOSE)
        torch.testing.assert_close(found.values[:-1], expected.values, **CLOSE)
        advantages, returns = torch.zeros(2, *found.rewards.shape)
        write_advantages(found, found.rewards, 0.9, 0.8, advantages, returns)
        both = gae(
            expected.rewards, expected.values, expected.next_values, expected.terminated,
            expected.truncated, 0.9, 0.8,
        )  # fmt: skip
        torch.testing.assert_close(advantages, both[0], **CLOSE)
        torch.testing.assert_close(returns, both[1], **CLOSE)
        compiled.policy.observe(expected.obs)
        device.policy.observe(expected.obs)
    assert compiled.envs.take_episode_totals() == device.envs.take_episode_totals()


def test_a_time_limit_is_bootstrapped_from_where_the_episode_was_cut(make_cuda_experiment):
    experiment = make_cuda_experiment("num_envs=20", "ppo.num_minibatches=1")
    experiment.envs.state.elapsed[:] = experiment.spec.max_episode_steps - 1
    experiment.collector.collect()
    rollout = experiment.collector.rollout
    assert rollout.truncated[0].all()
    assert (rollout.num_cuts == 1).all()
    # With gamma = 1 and lambda = 0 the return of the first step is its reward and that value.
    advantages, returns = torch.zeros(2, *rollout.rewards.shape)
    write_advantages(rollout, rollout.rewards, 1.0, 0.0, advantages, returns)
    with torch.no_grad():
        cut = experiment.policy.values(rollout.cut_obs[0])
    torch.testing.assert_close(returns[0], 1 + cut)
    assert (returns[0] != 1 + rollout.values[1]).all()


def test_there_is_room_for_every_time_limit_of_a_rollout():

    from operant.trainer.distributions import make_distribution
    from operant.trainer.envs.spec import Discrete, EnvSpec

    spec = EnvSpec("short", 1, 1, Discrete(2), 4, None, None, None)
    distribution = make_distribution(spec.actions, "auto")
    rooms = {
        steps: len(CudaRollout.empty(spec, steps, 1, distribution, "cpu").cut_obs)
        for steps in (1, 4, 5, 16, 17)
    }
    # An episode that is cut at step 0 is followed by others that are cut every 4 steps.
    assert rooms == {1: 1, 4: 1, 5: 2, 16: 4, 17: 5}


def test_several_time_limits_in_one_environment_keep_their_order():
    steps = 6
    rewards, flags = torch.zeros(steps, 1), torch.zeros(steps, 1, dtype=torch.bool)
    truncated = flags.clone()
    truncated[[1, 4]] = True
    rollout = CudaRollout(
        obs=None, actions=None, rewards=rewards, terminated=flags, truncated=truncated,
        log_probs=None, values=torch.zeros(steps + 1, 1), cut_obs=None,
        cut_values=torch.tensor([[10.0], [20.0]]), num_cuts=torch.tensor([2], dtype=torch.int32),
    )  # fmt: skip
    advantages, returns = torch.zeros(2, steps, 1)
    write_advantages(rollout, rewards, 1.0, 1.0, advantages, returns)
    assert returns.squeeze(1).tolist() == [10.0, 10.0, 20.0, 20.0, 20.0, 0.0]


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


def test_every_distribution_learns(make_cuda_experiment, any_distribution):
    experiment = make_cuda_experiment(any_distribution, "ppo.learning_rate=1e-3")
    before = experiment.policy.flat_parameters.clone()
    for _ in range(2):
        (values,) = experiment.iterate(Stopwatch(), wait=True)
    assert math.isfinite(values["loss/policy"])
    assert math.isfinite(values["loss/value"])
    assert (experiment.policy.flat_parameters != before).any()
