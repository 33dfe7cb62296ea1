"""A rollout holds what happened, and the values of the policy that gathered it."""

from __future__ import annotations

import pytest
import torch
from learning import collected, iterate, learn

from operant.trainer.collecting.collector import Collector
from operant.trainer.envs.vector import VectorEnv
from operant.trainer.policies.draws import set_generator


@pytest.fixture(params=["compiled", "pytorch"])
def make_collecting(request, make_experiment):
    """Experiments that collect with the compiled loop, and with PyTorch."""

    def make(*overrides: str):
        experiment = make_experiment(*overrides)
        if request.param == "pytorch":
            envs, steps = experiment.collector.envs, experiment.config.rollout_steps
            experiment.collector = Collector(envs, experiment.policy, steps, seed=1)
        return experiment

    return make


def test_every_step_leads_from_one_observation_to_the_next(make_collecting):
    experiment = make_collecting("rollout_steps=600", "num_envs=4", "ppo.num_minibatches=1")
    rollout = collected(experiment)
    envs = VectorEnv(experiment.collector.envs.spec, 4, experiment.config.seed)
    obs = torch.zeros(4, 4)
    envs.reset(obs.numpy())
    for t in range(600):
        assert (rollout.obs[t] == obs).all()
        out = rollout.transitions(t)._replace(obs=obs.numpy())
        envs.step(rollout.actions[t].numpy(), out)
    assert (rollout.obs[-1] == obs).all()
    assert rollout.dones.any()


@pytest.mark.parametrize(
    ("normalize", "activation"), [("true", "tanh"), ("false", "relu"), ("true", "elu")]
)
def test_values_and_log_probabilities_are_the_policys_own(make_collecting, normalize, activation):
    experiment = make_collecting(
        f"normalization.obs={normalize}", f"policy.activation={activation}", "num_envs=70",
        "ppo.num_minibatches=1",
    )  # fmt: skip
    iterate(experiment)  # so that there are statistics
    rollout, policy = collected(experiment), experiment.policy
    with torch.no_grad():
        outputs = policy.outputs(rollout.obs[:-1].flatten(0, 1))
        log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, rollout.actions.flatten())
        values = policy.values(rollout.obs.flatten(0, 1)).view(17, 70)
    torch.testing.assert_close(rollout.log_probs.flatten(), log_probs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(rollout.values, values[:-1], rtol=1e-5, atol=1e-6)
    going_on = ~rollout.dones
    torch.testing.assert_close(
        rollout.next_values[going_on], values[1:][going_on], rtol=1e-5, atol=1e-6
    )


@pytest.mark.slow
def test_actions_are_drawn_from_every_distribution_as_it_says(any_distribution, make_collecting):
    experiment = make_collecting(any_distribution, "num_envs=2000", "ppo.num_minibatches=1")
    policy = experiment.policy
    with torch.no_grad():  # the same distribution everywhere, but none that is symmetrical
        policy.actor[-1].weight.zero_()
        policy.actor[-1].bias.copy_(torch.linspace(-0.5, 1.0, len(policy.actor[-1].bias)))
    rollout = collected(experiment)
    found = rollout.actions.flatten(0, 1).double()
    outputs = policy.outputs(rollout.obs[0, :1]).expand(100_000, -1)
    noise = policy.distribution.noise((100_000,), torch.Generator().manual_seed(5))
    expected = policy.distribution.sample(outputs, noise).double()
    # Of 32,000 and 100,000 samples: the mean is within five of its deviations, about 0.006 each.
    torch.testing.assert_close(found.mean(0), expected.mean(0), rtol=0, atol=0.035)
    torch.testing.assert_close(found.std(0), expected.std(0), rtol=0.03, atol=0)
    log_probs, _ = policy.distribution.log_prob_and_entropy(
        policy.outputs(rollout.obs[:-1].flatten(0, 1)), rollout.actions.flatten(0, 1)
    )
    torch.testing.assert_close(rollout.log_probs.flatten(), log_probs, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_environment_is_given_actions_within_its_bounds(any_distribution, make_collecting):
    # Gaussians so wide that they often pass the bounds; others have no such setting.
    wide = ["policy.initial_log_std=1"] if "gaussian" in any_distribution else []
    experiment = make_collecting(any_distribution, "num_envs=8", *wide)
    rollout = collected(experiment)
    envs = VectorEnv(experiment.collector.envs.spec, 8, experiment.config.seed)
    obs = torch.zeros(8, experiment.collector.envs.spec.obs_size)
    envs.reset(obs.numpy())
    for t in range(len(rollout.rewards)):
        env_actions = experiment.policy.distribution.env_actions(rollout.actions[t])
        envs.step(env_actions.numpy(), rollout.transitions(t)._replace(obs=obs.numpy()))
        torch.testing.assert_close(rollout.obs[t + 1], obs, rtol=1e-5, atol=1e-6)


def test_a_time_limit_is_bootstrapped_from_where_the_episode_was_cut(make_collecting):
    experiment = make_collecting("num_envs=150", "ppo.num_minibatches=1")
    # Every episode is one step short of its limit, so that all are cut in the first step.
    envs = experiment.collector.envs
    envs.state.elapsed[:] = envs.spec.max_episode_steps - 1
    rollout, policy = collected(experiment), experiment.policy
    assert rollout.truncated[0].all()
    with torch.no_grad():
        cut, restarted = policy.values(rollout.final_obs[0]), policy.values(rollout.obs[1])
    torch.testing.assert_close(rollout.next_values[0], cut, rtol=1e-5, atol=1e-6)
    assert (rollout.next_values[0] != restarted).all()


def test_pytorch_keeps_to_one_thread_by_which_its_sums_do_not_change(make_collecting):
    experiment = make_collecting("num_threads=2")
    collected(experiment)
    assert torch.get_num_threads() == 1
    learn(experiment)
    assert torch.get_num_threads() == 1
    experiment.evaluate(5)
    assert torch.get_num_threads() == 1


def test_the_next_rollout_starts_where_the_last_ended(make_collecting):
    experiment = make_collecting()
    last = experiment.collector.collect().obs[-1].clone()
    assert (experiment.collector.collect().obs[0] == last).all()


def test_random_numbers_of_another_device_are_gone_on_with_by_others_than_were_drawn():
    generator = torch.Generator().manual_seed(7)
    first = torch.rand(4, generator=generator)
    kept = {"generator": generator.get_state()}
    straight = torch.rand(4, generator=generator)
    set_generator(generator, kept, seed=7, count=32)
    assert torch.equal(torch.rand(4, generator=generator), straight)
    drawn = []
    of_a_gpu = {"generator": torch.zeros(16, dtype=torch.uint8)}
    for state, count in (({}, 32), (of_a_gpu, 32), ({}, 64)):
        set_generator(generator, state, seed=7, count=count)
        drawn.append(torch.rand(4, generator=generator))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], first)
    assert not torch.equal(drawn[0], drawn[2])
