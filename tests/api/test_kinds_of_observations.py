"""`act`, `evaluate`, `play` and ONNX give the same actions for every type of observation."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import gymnasium
import numpy as np
import onnxruntime
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple, flatten

import operant
from operant.api.policies import Policy
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import describe, make_envs
from operant.trainer.envs.own_envs import register_own
from operant.trainer.envs.vector import Transitions
from operant.trainer.experiment.onnx_export import write_onnx
from operant.trainer.experiment.trained_policy import TrainedPolicy
from operant.trainer.experiment.untrained import make_policy
from operant.trainer.jit.streams import TRAINING
from operant.trainer.playing.gymnasium_episodes import GymnasiumEpisodes
from operant.trainer.spaces import num_numbers

PICTURE = Box(0, 255, (8, 8, 1), np.uint8)
KINDS = {
    "bytes": Box(0, 255, (5,), np.uint8),
    "table of bytes": Box(0, 255, (2, 2), np.uint8),
    "int8": Box(-100, 100, (3,), np.int8),
    "int64": Box(-1000, 1000, (3,), np.int64),
    "float16": Box(-1, 1, (3,), np.float16),
    "float64": Box(-1, 1, (3,), np.float64),
    "picture": PICTURE,
    "truth values": MultiBinary((4, 4)),
    "discrete": Discrete(3, start=2),
    "choices": MultiDiscrete([3, 4]),
    "bits": MultiBinary(3),
    "dictionary": Dict({"bytes": Box(0, 255, (2,), np.uint8), "number": Box(-1, 1, (1,))}),
    "dictionary with a picture": Dict({"camera": PICTURE, "number": Box(-1, 1, (1,))}),
    "tuple": Tuple((Discrete(3), Box(0, 9, (2,), np.int16))),
}
IN_ONNX = ("bytes", "picture", "truth values", "dictionary with a picture", "tuple")


class Shows(gymnasium.Env):
    """Shows samples of a space."""

    action_space = Box(-1, 1, (2,), np.float32)
    render_mode = "rgb_array"

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.first = self.observation_space.sample()
        return self.first, {}

    def step(self, action):
        self.last_action = action
        return self.observation_space.sample(), 0.0, True, False, {}


@pytest.fixture(params=KINDS)
def acting(request):
    """A policy, its environment's spec, and three observations of a kind."""
    space = KINDS[request.param]
    name = register_own(lambda: Shows(space))
    config = make_config({}, [f"env={name}", "policy.hidden_sizes=[4]", "seed=3"])
    policy = Policy(TrainedPolicy(make_policy(config), config, 0), SimpleNamespace(id="a run"))
    space.seed(5)
    return policy, describe(config), [space.sample() for _ in range(3)]


def test_act_gives_what_training_would_do(acting):
    policy, spec, _ = acting
    with closing(make_envs(spec, 3, 1, TRAINING)) as envs:
        out = Transitions.of(spec, 3)
        envs.reset(out.obs)
        seen = [env.unwrapped for env in envs._carrier.block.envs._envs]
    trained = policy._trained.policy
    with torch.inference_mode():
        expected, _ = trained.greedy_step(torch.from_numpy(out.obs), torch.zeros(3, 0))
    for env, row in zip(seen, expected.numpy(), strict=True):
        assert policy.act(env.first) == pytest.approx(row, abs=1e-5)
    assert operant.evaluate(policy, 2).num_episodes == 2


def test_play_does_what_act_does(acting):
    policy, _, _ = acting
    with closing(GymnasiumEpisodes(policy._trained)) as episodes:
        episodes.begin(1, 0)
        episodes.step()
        shown = episodes._env.unwrapped
        assert shown.last_action == pytest.approx(policy.act(shown.first), abs=1e-5)


@pytest.mark.slow
def test_onnx_does_what_act_does(acting, tmp_path, request):
    policy, spec, observations = acting
    if request.node.callspec.params["acting"] not in IN_ONNX:
        pytest.skip("another is alike")
    path = tmp_path / "policy.onnx"
    write_onnx(policy._trained.policy, num_numbers(spec), path, "a test")
    session = onnxruntime.InferenceSession(path)
    for obs in observations:
        row = flatten(spec.obs_space, obs).astype(np.float32).reshape(1, -1)
        (found,) = session.run(["action"], {"observation": row})
        assert found[0] == pytest.approx(policy.act(obs), abs=1e-4)
