"""Algorithms learn from every agent's row while it is valid, and all count as env steps."""

from __future__ import annotations

import pytest
import torch
from learning import iterate
from toy_envs import WALK, Described

from operant.trainer.collecting.collector import SlicedCollector
from operant.trainer.collecting.compiled import CompiledCollector
from operant.trainer.envs import hosts
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.experiment.evaluation import evaluate

COMPILED, TORCH, PQN = ("ppo", "float32"), ("ppo", "bfloat16"), ("pqn", "float32")


@pytest.fixture
def walkers(monkeypatch):
    """Whatever environment a configuration names has two agents."""
    monkeypatch.setattr(hosts, "HOSTS", (Described(WALK), *hosts.HOSTS))


@pytest.fixture(params=[COMPILED, TORCH, PQN], ids=["compiled", "pytorch", "pqn"])
def make_walking(request, walkers, make_experiment):
    """Experiments with two agents in each environment, by each of the collectors."""
    algorithm, precision = request.param
    collects = CompiledCollector if request.param == COMPILED else SlicedCollector

    def make(*overrides):
        experiment = make_experiment(
            f"algorithm={algorithm}", f"policy.precision={precision}", *overrides
        )
        assert type(experiment.collector) is collects
        return experiment

    return make


@pytest.mark.slow
def test_two_iterations_learn_and_count_the_steps_of_agents_that_still_walked(make_walking):
    experiment = make_walking()
    before = experiment.policy.flat_parameters.clone()
    values = iterate(experiment, 2)
    rollout = experiment.collector.rollout
    assert rollout.rewards.shape == (16, 16)  # 8 environments of two agents
    # Of the environments 2 and 5 the second agent takes no part.
    assert not rollout.valid[:, [5, 11]].any()
    assert rollout.valid.sum() < 16 * 14
    assert experiment.env_steps == 2 * 256 - experiment.dead_env_steps
    assert experiment.dead_env_steps > 2 * 2 * 16
    assert 0 < values["episode/length"] <= 6
    assert not torch.equal(experiment.policy.flat_parameters, before)
    assert experiment.policy.flat_parameters.isfinite().all()


@pytest.mark.slow
def test_a_rollout_of_agents_is_what_the_environment_does_with_their_actions(make_walking):
    experiment = make_walking("num_envs=64")
    rollout = experiment.collect()
    one = VectorEnv(WALK, 64, experiment.config.seed)
    out = Transitions.empty(WALK.obs_size, one.num_rows)
    one.reset(out.obs)
    for t in range(16):
        assert (rollout.obs[t].numpy() == out.obs).all()
        one.step(rollout.actions[t].numpy(), out)
        assert (rollout.rewards[t].numpy() == out.reward).all()
        assert (rollout.terminated[t].numpy() == out.terminated).all()
        assert (rollout.truncated[t].numpy() == out.truncated).all()
        assert (rollout.valid[t].numpy() == out.valid).all()
    assert rollout.truncated.any()
    assert rollout.terminated.any()


def test_nothing_is_learned_from_agents_that_have_retired(make_walking):
    changed, left_alone = make_walking(), make_walking()
    for experiment in (changed, left_alone):
        rollout = experiment.collect()
        if experiment is changed:
            dead = ~rollout.valid
            rollout.rewards[dead] = 1e6
            rollout.obs[:-1][dead] = 7.0
        experiment.learn()
    assert torch.equal(changed.policy.flat_parameters, left_alone.policy.flat_parameters)


def test_every_agent_that_takes_part_plays_one_episode_of_an_evaluation(walkers, make_experiment):
    experiment = make_experiment()

    def greedy(obs):  # to the right from the middle and on, else to and fro
        return (torch.arange(len(obs)) % 2 == 0).long()

    experiment.policy.greedy = greedy
    evaluation = evaluate(experiment.policy, WALK, 3, seed=1)
    # To the right edge and to the left: 0.5 + 0 - 0.5 = 0 in three steps; one takes no part.
    assert evaluation.returns.tolist() == [0.0] * 5
    assert evaluation.lengths.tolist() == [3] * 5


REPLAY = (
    "algorithm=dqn", "dqn.warmup_env_steps=256", "dqn.batch_size=64", "replay.capacity=2048",
    "dqn.updates_per_env_step=0.0625",
)  # fmt: skip


def test_all_agents_fill_one_replay_and_nothing_is_learned_from_retired_ones(
    walkers, make_experiment
):
    changed, left_alone = make_experiment(*REPLAY), make_experiment(*REPLAY)
    before = changed.policy.flat_parameters.clone()
    for experiment in (changed, left_alone):
        for _ in range(3):
            rollout = experiment.collect()
            if experiment is changed:
                rollout.rewards[~rollout.valid] = 1e6
            experiment.learn()
    assert not torch.equal(changed.policy.flat_parameters, before)
    assert torch.equal(changed.policy.flat_parameters, left_alone.policy.flat_parameters)
