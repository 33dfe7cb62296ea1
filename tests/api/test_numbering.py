"""Choices are numbered as the environment numbers them, wherever a policy gives them."""

from __future__ import annotations

import gymnasium
import numpy as np
import onnxruntime
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from own_lines import SMALL

import operant
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.playing.gymnasium_episodes import GymnasiumEpisodes

OF_REPLAY = {"replay.capacity": 512, "dqn.batch_size": 16, "dqn.warmup_env_steps": 32}


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
        return np.zeros(2, np.float32), float(np.sum(action)), True, False, {}

    def render(self):
        return np.zeros((4, 4, 3), np.uint8)


@pytest.mark.parametrize(
    ("algorithm", "space"),
    [
        ("ppo", Discrete(3, start=5)),
        ("dqn", Discrete(3, start=-7)),
        ("ppo", MultiDiscrete([3, 2], start=[4, -9])),
        ("ppo", MultiBinary(3)),
    ],
)
def test_training_loaded_policies_play_and_onnx_number_choices_alike(
    algorithm, space, tmp_path, monkeypatch
):
    spec = EnvSpec("Strict-v0", entry_point=Strict, kwargs={"space": space})
    monkeypatch.setitem(gymnasium.registry, "Strict-v0", spec)
    own = OF_REPLAY if algorithm == "dqn" else {}
    run = operant.train(
        "gymnasium:Strict-v0", algorithm=algorithm, total_env_steps=128, **{**SMALL, **own}
    )
    policy = operant.load(run)
    obs = np.zeros((3, 2), np.float32)
    actions = policy.act(obs)
    assert all(map(space.contains, actions))
    assert all(map(space.contains, policy.act(obs, greedy=False)))
    assert operant.evaluate(policy, 2).tolist() == [np.sum(actions[0])] * 2

    write_onnx(policy._trained.policy, 2, tmp_path / "policy.onnx", "a test")
    session = onnxruntime.InferenceSession(tmp_path / "policy.onnx")
    (exported,) = session.run(None, {"observation": obs})
    assert exported.tolist() == actions.tolist()

    episodes = GymnasiumEpisodes(policy._trained)
    episodes.begin(1, 0)
    assert episodes.step()
    assert episodes.moment(0).returns == (np.sum(actions[0]),)
    episodes.close()
