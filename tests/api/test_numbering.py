"""Choices are numbered as the environment numbers them, wherever a policy gives them."""

from __future__ import annotations

import gymnasium
import numpy as np
import onnxruntime
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector.utils import batch_space, iterate
from own_lines import SMALL

import operant
from operant.trainer.envs.space_rows import env_action
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.playing.gymnasium_episodes import GymnasiumEpisodes


def sum_of(action):
    return float(sum(map(sum_of, action)) if isinstance(action, tuple) else np.sum(action))


def one_by_one(space, actions):
    """A batch of actions as a list of such."""
    return list(iterate(batch_space(space, 3), actions))


class Strict(gymnasium.Env):
    """Pays for the highest number, and takes no action that is not in its space."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012
    observation_space = Box(-1, 1, (2,), np.float32)

    def __init__(self, space, render_mode=None):
        self.action_space, self.render_mode = space, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        if not self.action_space.contains(action):
            raise ValueError(f"{action} is not in {self.action_space}")
        return np.zeros(2, np.float32), sum_of(action), True, False, {}

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


@pytest.mark.parametrize(
    ("algorithm", "space"),
    [
        ("ppo", Discrete(3, start=5)),
        ("dqn", Discrete(3, start=-7)),
        ("ppo", MultiDiscrete([3, 2], start=[4, -9])),
        ("ppo", MultiBinary(3)),
        ("ppo", Tuple((Discrete(3, start=2), MultiBinary(2)))),
        ("ppo", Tuple((Discrete(2), Tuple((MultiDiscrete([2, 3]),))))),
        ("ppo", Tuple((Box(0, 1, (2,), np.float32), Box(-3, -2, (1,), np.float32)))),
        ("sac", Tuple((Box(0, 1, (2,), np.float32), Box(-3, -2, (1,), np.float32)))),
    ],
)
def test_training_loaded_policies_play_and_onnx_number_choices_alike(
    algorithm, space, tmp_path, monkeypatch
):
    spec = EnvSpec("Strict-v0", entry_point=Strict, kwargs={"space": space})
    monkeypatch.setitem(gymnasium.registry, "Strict-v0", spec)
    own = {} if algorithm == "ppo" else {
        "replay.capacity": 512, f"{algorithm}.batch_size": 16, f"{algorithm}.warmup_env_steps": 32,
    }  # fmt: skip
    run = operant.train(
        "gymnasium:Strict-v0", algorithm=algorithm, total_env_steps=128, **{**SMALL, **own}
    )
    policy = operant.load(run)
    obs = np.zeros((3, 2), np.float32)
    actions = policy.act(obs)
    one = policy.act(obs[0])
    assert all(map(space.contains, [one, *one_by_one(space, actions)]))
    assert all(map(space.contains, one_by_one(space, policy.act(obs, greedy=False))))
    assert operant.evaluate(policy, 2).returns.tolist() == pytest.approx([sum_of(one)] * 2)

    write_onnx(policy._trained.policy, 2, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    (exported,) = session.run(None, {"observation": obs})
    rows = one_by_one(space, env_action(space, exported))
    assert all(map(space.contains, rows))
    assert [sum_of(row) for row in rows] == pytest.approx([sum_of(one)] * 3)

    episodes = GymnasiumEpisodes(policy._trained)
    episodes.begin(1, 0)
    assert episodes.step()
    assert episodes.moment(0).returns == pytest.approx((sum_of(one),))
    episodes.close()
