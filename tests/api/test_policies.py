"""`operant.load` and `operant.evaluate`."""

from __future__ import annotations

import gymnasium
import numpy as np
import onnxruntime
import pytest
import torch
from own_lines import make_line_class
from trained_runs import untrained

import operant


@pytest.fixture
def policy(line_run):
    return operant.load(line_run)


def test_it_acts_on_one_observation_and_on_a_batch(policy):
    batch = policy.act(np.array([[3.0], [-3.0]], np.float32))
    assert batch.shape == (2, 1)
    assert policy.act([3.0]).shape == (1,)
    # A product of one row may round in another way than one of two.
    assert policy.act([3.0]) == pytest.approx(batch[0], rel=1e-5)
    assert policy.act([3]) == policy.act([3.0])
    assert np.abs(batch).max() <= 1
    assert policy.act([3.0]).tolist() == policy.act([3.0]).tolist()
    assert policy.act([3.0], greedy=False).tolist() != policy.act([3.0], greedy=False).tolist()


def test_a_wrong_observation_is_said_in_one_line(policy):
    with pytest.raises(operant.UsageError, match=r"obs has the shape \(2, 3\): .* takes 1 numbers"):
        policy.act(np.zeros((2, 3)))
    with pytest.raises(operant.UsageError, match=r"obs has torch\.complex64: expected 1 real"):
        policy.act(np.ones(1, np.complex64))
    with pytest.raises(operant.UsageError, match="obs has NaN or infinity"):
        policy.act(np.full((3, 1), np.nan))
    with pytest.raises(operant.UsageError, match="obs is a dict: expected an array"):
        policy.act({"a": 1})
    with pytest.raises(operant.UsageError, match=r"obs is a list: expected .* 1 numbers, or a b"):
        policy.act([[3.0], [3.0, 4.0]])


def test_it_is_written_as_onnx(policy, tmp_path):
    path = tmp_path / "line.onnx"
    policy.to_onnx(path)
    obs = np.array([[3.0], [-3.0]], np.float32)
    actions = onnxruntime.InferenceSession(path).run(["action"], {"observation": obs})[0]
    assert actions == pytest.approx(policy.act(obs), abs=1e-5)
    with pytest.raises(operant.UsageError, match=r"cannot write .*: No such file or directory"):
        policy.to_onnx(tmp_path / "nowhere" / "line.onnx")
    with pytest.raises(operant.UsageError, match=r"^path = 1: expected a file"):
        policy.to_onnx(1)


def test_weights_that_are_not_finite_are_neither_loaded_nor_shared(policy, tmp_path):
    path = max(policy.run.folder.rglob("iteration-*.pt"))
    saved = torch.load(path, weights_only=True)
    next(iter(saved["state"]["policy"].values())).fill_(np.nan)
    torch.save(saved, path)
    with pytest.raises(operant.UsageError, match="has NaN or infinity in it"):
        operant.load(policy.run)
    with pytest.raises(operant.UsageError, match="has NaN or infinity in it"):
        operant.push(policy.run, tmp_path / "policy", num_episodes=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: operant.evaluate(x, 2, env=1), "env = 1: expected a name, or a class"),
        (lambda x: operant.evaluate(x, 2, seed="a"), "seed = 'a': expected a whole number"),
        (lambda x: x.predict([3.0], np.zeros((1, 2))), "has no memory; write actions = policy.act"),
        (lambda x: x.initial_state(None), "batch_size = None: expected a whole number"),
        (lambda _: operant.Run(3), "run = 3: expected a run, its id or name, or its folder"),
        (lambda _: operant.Run("no such folder"), "no run is called 'no such folder'"),
        (lambda x: operant.push(x, "folder", private="yes"), "private = 'yes': expected True"),
    ],
)
def test_an_argument_of_a_wrong_type_is_named(policy, call, said):
    with pytest.raises(operant.UsageError, match=said):
        call(policy)


def test_one_image_with_one_channel_is_no_batch():
    class Image(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 255, (1, 12, 12), np.uint8)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            return np.zeros((1, 12, 12), np.uint8), {}

        def step(self, action):
            return np.zeros((1, 12, 12), np.uint8), 0.0, True, False, {}

    policy = untrained(Image)
    obs = np.zeros((1, 12, 12), np.uint8)
    assert policy.act(obs).shape == ()
    assert policy.act(obs[None]).shape == (1,)
    for scaled in (obs / 255, obs[None] / 255):
        with pytest.raises(operant.UsageError, match=r"torch\.float64: .* gives uint8, 0 to 255"):
            policy.act(scaled)


def test_the_threads_of_a_script_are_as_before(policy, tmp_path):
    torch.set_num_threads(2)
    try:
        operant.evaluate(policy, 2)
        operant.push(policy.run, tmp_path / "policy", num_episodes=1)
        operant.testing.check_algorithm("ppo")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_a_policy_that_remembers_needs_its_state():
    policy = untrained("cart_pole", policy={"memory": {"kind": "lstm", "size": 4}})
    obs = np.ones(4, np.float32)
    with pytest.raises(operant.UsageError, match=r"actions, state = policy.predict\(obs, state"):
        policy.act(obs)
    with pytest.raises(operant.UsageError, match=r"state = 'x': expected an array of torch.float"):
        policy.predict(obs, "x")
    action, state = policy.predict(obs, deterministic=True)
    assert action in (0, 1)
    assert state.tolist() != policy.initial_state().tolist()
    assert policy.predict(obs, state)[1].tolist() != state.tolist()
    # An episode starts in the second row alone.
    both, two = np.stack([obs, obs]), np.concatenate([state, state])
    _, after = policy.predict(both, two, np.array([False, True]), deterministic=True)
    assert after[0] == pytest.approx(policy.predict(obs, state)[1][0], abs=1e-6)
    assert after[1] == pytest.approx(state[0], abs=1e-6)
    with pytest.raises(operant.UsageError, match="episode_start has 1 values: expected one for"):
        policy.predict(both, two, [True])


@pytest.mark.parametrize("make", ["cart_pole", "pendulum", "CartPole-v1"])
def test_spaces_are_those_of_observations_and_actions(make):
    policy = untrained(make)
    obs = policy.observation_space.sample()
    actions, state = policy.predict(obs[None])
    assert state is None
    assert len(actions) == 1
    assert policy.action_space.contains(actions[0])
    assert policy.action_space.contains(policy.act(obs))


@pytest.mark.parametrize("settings", [{}, {"policy": {"memory": {"kind": "lstm", "size": 4}}}])
def test_stable_baselines3_evaluates_a_policy(settings):
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    policy = untrained("CartPole-v1", **settings)
    returns, lengths = evaluation.evaluate_policy(
        policy, gymnasium.make("CartPole-v1"), 3, return_episode_rewards=True, warn=False
    )
    assert returns == lengths
    assert len(returns) == 3


def test_choices_count_as_the_environment_counts_them():
    class From5(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(3, start=5)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(2, np.float32), {}

        def step(self, action):
            assert self.action_space.contains(action)
            return np.zeros(2, np.float32), 1.0, True, False, {}

    policy = untrained(From5)
    assert policy.act(np.zeros(2, np.float32)) in (5, 6, 7)
    assert operant.evaluate(policy, 3).returns.tolist() == [1, 1, 1]


def test_returns_are_those_of_so_many_episodes_and_the_same_with_the_same_seed(policy):
    returns = operant.evaluate(policy, num_episodes=5).returns
    assert returns.shape == (5,)
    assert (returns <= 0).all()
    evaluation = operant.evaluate(policy, num_episodes=5)
    assert evaluation.metrics["evaluation/return"] == evaluation.mean == returns.mean()
    assert evaluation.as_dict()["returns"] == returns.tolist()
    assert evaluation.success_rate is None
    assert operant.evaluate(policy.run, num_episodes=5).returns.tolist() == returns.tolist()
    assert operant.evaluate(policy, num_episodes=5, seed=77).returns.tolist() != returns.tolist()
    with pytest.raises(operant.UsageError, match="num_episodes = 0: expected a whole number"):
        operant.evaluate(policy, num_episodes=0)
    for seed in (-1, "a", 2**70, True):
        with pytest.raises(operant.UsageError, match=f"seed = .{{0,1}}{seed}.*: expected a whole"):
            operant.evaluate(policy, num_episodes=1, seed=seed)


def test_another_environment_is_played_in_where_it_fits(policy):
    short = make_line_class(num_steps=1)
    assert abs(operant.evaluate(policy, 6, env=short).returns).max() < 6  # one step, of at most 6
    assert abs(operant.evaluate(policy, 6).returns).max() > 6
    with pytest.raises(operant.UsageError, match="env = cart_pole: it has 4 observations"):
        operant.evaluate(policy, env="cart_pole")
    with pytest.raises(operant.UsageError, match="'cart_pol' is not an environment; did you mean"):
        operant.evaluate(policy, env="cart_pol")


def test_a_run_is_meant_by_handle_id_part_or_folder(policy):
    run = policy.run
    for meant in (run, run.id, run.id[-4:], run.folder, str(run.folder), None):
        assert operant.load(meant).run == run
    with pytest.raises(operant.UsageError, match="no run is called 'nothing'"):
        operant.load("nothing")
    with pytest.raises(operant.UsageError, match="is not the folder of a run"):
        operant.load(run.folder.parent)
    with pytest.raises(operant.UsageError, match="run = 3: expected a run, its id"):
        operant.load(3)
