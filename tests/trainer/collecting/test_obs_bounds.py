"""Observations outside of their space are said once, with the key and the value."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Tuple

from operant.trainer.collecting.collector import Collector
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import describe, make_envs
from operant.trainer.envs.own_envs import register_own
from operant.trainer.experiment.untrained import make_policy
from operant.trainer.jit.streams import TRAINING

PICTURE = Box(0, 100, (8, 8, 1), np.uint8)
BLACK, BRIGHT = (np.full((8, 8, 1), value, np.uint8) for value in (0, 101))
SPEED = Box(-1, 1, (2,), np.float64)
PARTS = Dict({"camera": PICTURE, "car": Tuple((SPEED, Discrete(2)))})
ARRAY = np.array


def parts(speed=0.0, camera=BLACK):
    return {"camera": camera, "car": (ARRAY([0.5, speed]), 1)}


# A space, what it is right to show, what is shown in the third step, and the notice.
OUTSIDE = {
    "vector": (SPEED, ARRAY([1.0, 0]), ARRAY([0, 1.5]), "an observation is outside of its space: "
               "number 1 is 1.5, and goes from -1 to 1"),
    "one side": (Box(0, np.inf, (1,)), ARRAY([1e30]), ARRAY([-2.0]),
                 "number 0 is -2, and goes from 0 to inf"),
    "whole numbers": (Box(0, 9, (1,), np.int16), ARRAY([9]), ARRAY([10]),
                      "number 0 is 10, and goes from 0 to 9"),
    "bytes": (Box(0, 255, (1,), np.uint8), ARRAY([255]), ARRAY([300]),
              "number 0 is 300, and goes from 0 to 255"),
    "part": (PARTS, parts(1.0), parts(-7.0), "an observation car/0 is outside of its space: "
             "number 1 is -7, and goes from -1 to 1"),
    "picture": (PARTS, parts(), parts(camera=BRIGHT),
                "an observation camera is outside of its space: number 0 is 101, and"),
    "rounding": (Box(-0.1, 0.1, (1,), np.float64), ARRAY([0.1]), ARRAY([0.1000001]), None),
    "no bounds": (Box(-np.inf, np.inf, (1,)), ARRAY([1.0]), ARRAY([1e38]), None),
}  # fmt: skip


class Shows(gymnasium.Env):
    """An episode has three steps."""

    action_space = Discrete(2)

    def __init__(self, space, right, third):
        self.observation_space, self.right, self.third = space, right, third

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.right, {}

    def step(self, action):
        self.steps += 1
        is_over = self.steps == 3
        return self.third if is_over else self.right, 0.0, is_over, False, {}


def collector_of(make, *overrides):
    config = make_config({}, [f"env={register_own(make)}", "policy.hidden_sizes=[2]", *overrides])
    envs = make_envs(describe(config), 2, 1, TRAINING)
    return Collector(envs, make_policy(config), 4, 1)


@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_part_that_is_outside_is_said_once(kind):
    space, right, third, said = OUTSIDE[kind]
    collector = collector_of(lambda: Shows(space, right, third))
    found = []
    for _ in range(2):
        collector.collect()
        found += collector.take_notices()
    collector.close()
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_bytes_that_would_be_other_bytes_are_refused():
    collector = collector_of(lambda: Shows(PICTURE, BLACK, np.full((8, 8, 1), 300)))
    with pytest.raises(
        EnvError, match="observation with numbers from 300 to 300, and observation_"
    ):
        collector.collect()
    collector.close()
