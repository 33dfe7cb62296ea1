"""ONNX metadata describes the order of inputs and outputs."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Tuple, flatten

from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.own_envs import register_own
from operant.trainer.experiment.onnx_export import metadata_of


class Parts(gymnasium.Env):
    """A plain dictionary, whose keys Gymnasium sorts."""

    observation_space = Dict(
        {"speed": Box(-1, 1, (2,)), "more": Tuple((Discrete(3), Box(0, 255, (2, 2), np.uint8)))}
    )
    action_space = Dict({"turn": Discrete(3), "arm": Tuple((Discrete(2), Discrete(5)))})

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}


def test_the_order_of_the_parts_of_observations_and_actions_is_in_the_metadata():
    metadata = metadata_of("parts", load_spec(register_own(Parts)))
    parts = json.loads(metadata["observation_parts"])
    assert [(part["name"], part["start"], part["size"]) for part in parts] == [
        ("more/0", 0, 3), ("more/1", 3, 4), ("speed", 7, 2),
    ]  # fmt: skip
    obs = Parts.observation_space.sample()
    row = flatten(Parts.observation_space, obs)
    speed = parts[2]
    assert row[speed["start"] :][: speed["size"]].tolist() == obs["speed"].tolist()
    actions = json.loads(metadata["action_parts"])
    assert [(part["name"], part["start"], part["size"]) for part in actions] == [
        ("arm/0", 0, 1), ("arm/1", 1, 1), ("turn", 2, 1),
    ]  # fmt: skip


def test_a_row_of_one_part_has_no_order_to_tell():
    assert metadata_of("cart_pole", load_spec("cart_pole")).keys() == {"env", "observation_shape"}
