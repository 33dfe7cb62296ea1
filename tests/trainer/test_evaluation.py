"""Evaluation is greedy, repeatable, and gives every environment the same say."""

from __future__ import annotations

import torch
from learning import iterate

from operant.trainer.evaluation import evaluate


def test_the_same_policy_gets_the_same_returns(make_experiment):
    experiment = make_experiment()
    first = experiment.evaluate(20)
    experiment.collector.collect()
    again = experiment.evaluate(20)
    assert (first.returns == again.returns).all()
    assert len(set(first.returns)) > 1


def test_long_episodes_count_as_much_as_short_ones(make_experiment):
    experiment = make_experiment()
    # Each environment plays to its end: in CartPole a return is as long as its episode.
    evaluation = experiment.evaluate(50)
    assert len(evaluation.returns) == 50
    assert (evaluation.returns == evaluation.lengths).all()
    assert evaluation.lengths.min() >= 5


def test_an_episode_ends_at_the_time_limit(make_experiment):
    experiment = make_experiment()
    balance = torch.tensor([[0.0, 0.5, 10.0, 3.0]])  # leaning right: push right

    def outputs(obs):
        push_right = obs @ balance.T
        return torch.cat([-push_right, push_right], -1)

    experiment.policy.outputs = outputs
    evaluation = evaluate(experiment.policy, experiment.collector.envs.spec, 3, seed=1)
    assert evaluation.lengths.tolist() == [500] * 3


def test_statistics_are_frozen_while_evaluating(make_experiment):
    experiment = make_experiment("normalization.obs=true")
    iterate(experiment)
    before = experiment.policy.normalizer.moments.count.clone()
    experiment.evaluate(5)
    assert experiment.policy.normalizer.moments.count == before > 0
