"""A policy that remembers outside training: as an ONNX file, played, and kept in checkpoints."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
from learning import iterate

from operant.trainer.envs.hosts import describe, load_spec
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.experiment.evaluation import evaluate
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.experiment.trained_policy import TrainedPolicy
from operant.trainer.playing import make_episodes

NO_VELOCITY = "env=cart_pole_no_velocity"


@pytest.fixture(params=["lstm", "gru"])
def experiment(request, make_experiment):
    made = make_experiment(
        NO_VELOCITY, f"policy.memory.kind={request.param}", "policy.memory.size=8",
        "normalization.obs=true", "ppo.learning_rate=1e-2",
    )  # fmt: skip
    iterate(made, 2)
    return made


def test_only_what_is_seen_differs_from_cart_pole():
    spec, other = load_spec("cart_pole_no_velocity"), load_spec("cart_pole")
    outs, envs = [], []
    for each in (spec, other):
        envs.append(VectorEnv(each, 20, seed=3))
        outs.append(Transitions.empty(each.obs_size, 20))
        envs[-1].reset(outs[-1].obs)
    actions = np.random.default_rng(1).integers(0, 2, (100, 20))
    for chosen in actions:
        # Of position, velocity, angle and angular velocity, the first and the third.
        assert (outs[0].obs == outs[1].obs[:, [0, 2]]).all()
        for env, out in zip(envs, outs, strict=True):
            env.step(chosen, out)
        assert (outs[0].reward == outs[1].reward).all()
        assert (outs[0].terminated == outs[1].terminated).all()
    assert envs[0].take_episode_totals() == envs[1].take_episode_totals()


@pytest.mark.slow
def test_a_file_takes_and_gives_the_state_and_acts_as_here(experiment, tmp_path):
    policy = experiment.policy
    write_onnx(policy, 2, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(
        tmp_path / "policy.onnx", providers=["CPUExecutionProvider"]
    )
    assert [x.name for x in session.get_inputs()] == ["observation", "state"]
    assert [x.name for x in session.get_outputs()] == ["action", "next_state"]
    env = VectorEnv(experiment.collector.envs.spec, 3, seed=5)
    out = Transitions.empty(2, 3)
    env.reset(out.obs)
    here = torch.zeros(3, policy.state_size)
    there, num_resets = here.numpy(), 0
    for _ in range(60):
        actions, here = policy.greedy_step(torch.from_numpy(out.obs), here)
        found, there = session.run(None, {"observation": out.obs, "state": there})
        assert found.tolist() == actions.tolist()
        np.testing.assert_allclose(there, here.detach().numpy(), atol=1e-5)
        env.step(found, out)
        done = out.terminated | out.truncated
        num_resets += int(done.sum())
        here, there = here.detach().clone(), there.copy()
        here[done], there[done] = 0.0, 0.0
    assert num_resets > 0


@pytest.mark.slow
def test_episodes_that_are_played_are_those_of_an_evaluation(experiment):
    config = experiment.config
    trained = TrainedPolicy(experiment.policy, config, 2)
    returns = evaluate(experiment.policy, describe(config), 3, config.seed).returns.tolist()
    episodes = make_episodes(trained)
    for number in (1, 0, 2):  # each begins knowing nothing, whatever was played before
        episodes.begin(config.seed, number)
        while not episodes.step():
            pass
        assert episodes.moment(0).returns == (returns[number],)
    with pytest.raises(ValueError, match="remembers the steps before"):
        trained.act(torch.zeros(1, 2))


def test_where_episodes_begin_anew_nothing_is_known_of_the_former(make_experiment):
    overrides = ("env=gymnasium:CartPole-v1", "policy.memory.kind=gru")
    one, other = make_experiment(*overrides), make_experiment(*overrides)
    iterate(one, 2)
    other.load_state_dict(one.state_dict(), 2)
    assert not other.collect().states.any()
    assert one.collect().states.any()
