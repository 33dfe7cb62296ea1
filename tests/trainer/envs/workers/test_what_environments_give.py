"""An environment that returns something outside its spaces ends the run with one line: it names
the environment, the method and the part of the observation.
"""

from __future__ import annotations

from contextlib import closing

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, OneOf, Tuple
from own_lines import SMALL

import operant
from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import describe, load_spec, make_envs
from operant.trainer.envs.own_envs import register_own
from operant.trainer.envs.vector import Transitions
from operant.trainer.jit.streams import TRAINING

VECTOR = Box(-1, 1, (3,), np.float32)
IMAGE = Box(0, 255, (4, 5, 3), np.uint8)
CELLS = MultiDiscrete([4, 4])
PARTS = Dict({"camera": IMAGE, "arm": Tuple((VECTOR, Discrete(4)))})
BITS = Dict({"a": VECTOR, "b": MultiBinary(2)})
GOOD = np.zeros(3, np.float32)
NAN = np.full(3, np.nan, np.float32)
BLACK = np.zeros((4, 5, 3), np.uint8)


def parts(camera=BLACK, arm=(GOOD, 2)):
    return {"camera": camera, "arm": arm}


STEP = (GOOD, 0.0, False, False, {})
# What `step` gives in the third step; the space of observations; the words of the error.
GIVEN = {
    "None": (None, VECTOR, "gives a NoneType, expected a tuple (obs, reward, terminated, "),
    "shape": ((np.zeros(4), *STEP[1:]), VECTOR,
              "gives an observation of shape (4,), and observation_space has (3,)"),
    "ragged": (([[1], [1, 2], 3], *STEP[1:]), VECTOR, "gives an observation of type object"),
    "NaN at the end": ((NAN, 0.0, True, False, {}), VECTOR, "gives an observation with NaN or "),
    "number as text": ((GOOD, "1.0", False, False, {}), VECTOR, "gives the reward '1.0', expect"),
    "infinite": ((GOOD, np.inf, False, False, {}), VECTOR, "gives the reward inf, expected a "),
    "no key": (({"camera": BLACK}, *STEP[1:]), PARTS,
               "gives an observation without the key 'arm', which observation_space has"),
    "part's NaN": ((parts(arm=(NAN, 2)), *STEP[1:]), PARTS,
                   "gives observation['arm'][0] with NaN or infinity: [nan nan nan]"),
    "part's choice": ((parts(arm=(GOOD, 7)), *STEP[1:]), PARTS,
                      "gives observation['arm'][1] 7, which is not in Discrete(4)"),
    "floats in an image": ((BLACK / 255, *STEP[1:]), IMAGE,
                           "gives an observation of float64, and observation_space has uint8"),
    "floats in a part": ((parts(camera=BLACK / 255), *STEP[1:]), PARTS,
                         "gives observation['camera'] of float64, and observation_space has uint8"),
    "no truth values": (({"a": GOOD, "b": np.array([0, 2])}, *STEP[1:]), BITS,
                        "gives observation['b'] [0 2], which is not in MultiBinary(2)"),
    "truncated": ((GOOD, 0.0, False, 1, {}), VECTOR, "gives truncated = 1, expected True or "),
    "short tuple": ((parts(arm=(GOOD,)), *STEP[1:]), PARTS,
                    "gives observation['arm'] that is a tuple of 1, expected a tuple of 2"),
}  # fmt: skip


def make_class(space, at_step, given=None, first=None):
    class Gives(gymnasium.Env):
        observation_space = space
        action_space = Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.number = 0
            return (self.obs(), {}) if first is None else first

        def step(self, action):
            self.number += 1
            return given if self.number == at_step else (self.obs(), *STEP[1:])

        def obs(self):
            bits = {"a": GOOD, "b": np.array([0, 1], np.int8)}
            right = {
                id(PARTS): parts(), id(IMAGE): BLACK, id(CELLS): np.array([1, 2]), id(BITS): bits
            }  # fmt: skip
            return right.get(id(space), GOOD)

    return Gives


def play(make_env, num_steps=5):
    name = register_own(make_env)
    spec = load_spec(name)
    with closing(make_envs(spec, 2, 1, TRAINING)) as envs:
        out = Transitions.of(spec, 2)
        envs.reset(out.obs)
        for _ in range(num_steps):
            envs.step(np.zeros(2, np.int64), out)
    return name


@pytest.mark.parametrize("kind", GIVEN)
def test_a_wrong_step_is_named(kind):
    given, space, words = GIVEN[kind]
    with pytest.raises(EnvError) as raised:
        play(make_class(space, 3, given))
    said = str(raised.value)
    assert said.startswith("env = 'gymnasium:own/")
    assert f": step {words}" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("first", "words"),
    [
        (GOOD, "gives a ndarray, expected a tuple (obs, info)"),
        ((NAN, {}), "gives an observation with NaN or infinity"),
    ],
)
def test_a_wrong_reset_is_named(first, words):
    with pytest.raises(EnvError) as raised:
        play(make_class(VECTOR, 0, first=first))
    assert f": reset {words}" in str(raised.value)


@pytest.mark.parametrize(
    "space", [VECTOR, IMAGE, CELLS, PARTS], ids=["vector", "image", "cells", "parts"]
)
def test_what_is_right_passes(space):
    play(make_class(space, 0))


def test_truth_values_of_numpy_pass():
    play(make_class(VECTOR, 3, (GOOD, 0.0, np.bool_(True), np.False_, {})))
    play(make_class(CELLS, 3, ([1, 2], *STEP[1:])))  # a list of integers, too


def test_the_reset_after_an_episode_is_named_as_such():
    class Second(make_class(VECTOR, 3, (GOOD, 0.0, True, False, {}))):
        num_resets = 0

        def obs(self):
            return NAN if self.num_resets > 1 else GOOD

        def reset(self, **options):
            self.num_resets += 1
            return super().reset(**options)

    with pytest.raises(EnvError, match="reset gives an observation with NaN"):
        play(Second)


def test_each_configuration_looks_anew_at_what_a_name_stands_for(monkeypatch):
    def register(space):
        spec = EnvSpec("Changed-v0", entry_point=make_class(space, 0))
        monkeypatch.setitem(gymnasium.registry, "Changed-v0", spec)
        return describe(load_config("gymnasium:Changed-v0"))

    assert register(VECTOR).obs_size == 3
    assert register(CELLS).obs_size == 8


def test_a_run_that_meets_it_has_failed_with_that_line():
    with pytest.raises(operant.OperantError, match="step gives an observation of shape") as raised:
        operant.train(
            make_class(VECTOR, 30, (np.zeros(4), *STEP[1:])), total_env_steps=1000,
            ppo={"num_minibatches": 1}, **SMALL,
        )  # fmt: skip
    (run, *_) = operant.runs()
    assert run.status().state == "failed"
    assert run.status().message == str(raised.value)


def test_what_an_environment_raises_is_raised_as_it_is():
    class Hot(make_class(VECTOR, 0)):
        def step(self, action):
            raise TypeError("the motor is hot")

    with pytest.raises(TypeError, match="the motor is hot"):
        play(Hot)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (OneOf([VECTOR, Discrete(3)]), "observations have OneOf"),
        (Dict({"a": Dict({}), "b": VECTOR}), "with an empty part; leave it out"),
    ],
)
def test_observations_without_numbers_of_their_own_are_refused(space, words):
    with pytest.raises(ConfigError, match=words):
        load_spec(register_own(make_class(space, 3)))
