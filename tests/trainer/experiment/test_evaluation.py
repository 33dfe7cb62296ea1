"""Evaluation is greedy, repeatable, and gives every environment the same say."""

from __future__ import annotations

import torch

from operant.trainer.experiment.evaluation import evaluate


def test_an_episode_ends_at_the_time_limit(make_experiment):
    experiment = make_experiment()
    balance = torch.tensor([[0.0, 0.5, 10.0, 3.0]])  # leaning right: push right

    def outputs(obs):
        push_right = obs @ balance.T
        return torch.cat([-push_right, push_right], -1)

    experiment.policy.outputs = outputs
    evaluation = evaluate(experiment.policy, experiment.collector.envs.spec, 3, seed=1)
    assert evaluation.lengths.tolist() == [500] * 3


def test_what_followed_the_first_observations_is_discounted(make_experiment):
    experiment = make_experiment()
    spec = experiment.collector.envs.spec
    found = evaluate(experiment.policy, spec, 20, seed=1, gamma=0.5)
    # 1 + 0.5 + 0.25 + ... over the length; poles that fell leave nothing.
    assert found.from_start.returns.tolist() == (2 - 0.5 ** (found.lengths - 1.0)).tolist()
    assert found.from_start.left_discounts.tolist() == [0] * 20
    cut = evaluate(experiment.policy, spec, 20, seed=1, max_episode_steps=3, gamma=0.5)
    assert cut.from_start.returns.tolist() == [1.75] * 20
    assert cut.from_start.left_discounts.tolist() == [0.125] * 20
    assert cut.from_start.obs.tolist() == found.from_start.obs.tolist()
    assert (cut.from_start.left_obs != cut.from_start.obs).any(axis=1).all()
