"""A rollout holds what happened, and judges it as the policy stood."""

from __future__ import annotations

import torch

from operant.trainer.envs.vector import VectorEnv


def test_every_step_leads_from_one_observation_to_the_next(make_experiment):
    experiment = make_experiment("rollout_steps=600", "num_envs=4", "ppo.num_minibatches=1")
    rollout = experiment.collector.collect()
    envs = VectorEnv(experiment.spec, 4, experiment.config.seed)
    obs = torch.zeros(4, 4)
    envs.reset(obs.numpy())
    for t in range(600):
        assert (rollout.obs[t] == obs).all()
        out = rollout.transitions(t)._replace(obs=obs.numpy())
        envs.step(rollout.actions[t].numpy(), out)
    assert (rollout.obs[-1] == obs).all()
    assert rollout.dones.any()


def test_values_and_log_probabilities_are_the_policys_own(make_experiment):
    experiment = make_experiment()
    rollout, policy = experiment.collector.collect(), experiment.policy
    with torch.no_grad():
        outputs = policy.outputs(rollout.obs[:-1].flatten(0, 1))
        log_probs, _ = policy.distribution.log_prob_and_entropy(outputs, rollout.actions.flatten())
        values = policy.values(rollout.obs.flatten(0, 1)).view(17, 8)
    torch.testing.assert_close(rollout.log_probs.flatten(), log_probs)
    torch.testing.assert_close(rollout.values, values[:-1])


def test_a_time_limit_is_bootstrapped_from_where_the_episode_was_cut(make_experiment):
    experiment = make_experiment()
    # Every episode is one step short of its limit, so that all are cut in the first step.
    experiment.envs.state.elapsed[:] = experiment.spec.max_episode_steps - 1
    rollout, policy = experiment.collector.collect(), experiment.policy
    assert rollout.truncated[0].all()
    with torch.no_grad():
        cut, restarted = policy.values(rollout.final_obs[0]), policy.values(rollout.obs[1])
    torch.testing.assert_close(rollout.next_values[0], cut)
    assert (rollout.next_values[0] != restarted).all()


def test_the_next_rollout_starts_where_the_last_ended(make_experiment):
    experiment = make_experiment()
    last = experiment.collector.collect().obs[-1].clone()
    assert (experiment.collector.collect().obs[0] == last).all()
