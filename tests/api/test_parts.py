"""Observations that are dictionaries and tuples: each image has an encoder of its own."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete, Sequence, Text, Tuple
from own_lines import SMALL

import operant
from operant.trainer.envs import load_any_spec
from operant.trainer.envs.own_envs import register_own
from operant.trainer.policies.encoder import PartsEncoder
from operant.trainer.spaces.encoders import obs_parts

CAMERA = Box(0, 255, (12, 12, 1), np.uint8)


class WhereIsIt(gymnasium.Env):
    """The bright square is left or right in the picture; nothing else says so."""

    observation_space = Dict(
        {"camera": CAMERA, "more": Tuple((Box(-1, 1, (3,), np.float32), Discrete(4)))}
    )
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.number = 0
        return self.show(), {}

    def show(self):
        random = self.np_random
        self.side = int(random.integers(2))
        camera = random.integers(0, 100, CAMERA.shape).astype(np.uint8)
        y, x = random.integers(9), random.integers(3) + 6 * self.side
        camera[y : y + 3, x : x + 3] = 255
        more = random.uniform(-1, 1, 3).astype(np.float32), int(random.integers(4))
        return {"camera": camera, "more": more}

    def step(self, action):
        reward = float(action == self.side)
        self.number += 1
        return self.show(), reward, self.number == 50, False, {}


def spec_of(space):
    made = type("Env", (WhereIsIt,), {"observation_space": space})
    return load_any_spec(register_own(made))


def test_parts_lie_in_the_columns_that_gymnasium_flattens_to():
    spec = load_any_spec(register_own(WhereIsIt))
    assert spec.obs_size == 144 + 3 + 4
    assert [(part.start, part.obs_size, part.encoder) for part in obs_parts(spec)] == [
        (0, 144, "minatar"), (144, 3, "mlp"), (147, 4, "mlp"),
    ]  # fmt: skip
    space = WhereIsIt.observation_space
    space.seed(1)
    sample = space.sample()
    row = gymnasium.spaces.flatten(space, sample)
    assert (row[:144].reshape(CAMERA.shape) == sample["camera"]).all()
    assert row[147 + sample["more"][1]] == 1


@pytest.mark.parametrize("algorithm", ["ppo", "pqn", "dqn", "iqn"])
def test_each_algorithm_has_an_encoder_for_the_picture_and_scales_it(algorithm):
    own = {} if algorithm in ("ppo", "pqn") else {
        f"{algorithm}.batch_size": 16, f"{algorithm}.warmup_env_steps": 128,
        "replay.capacity": 512,
    }  # fmt: skip
    minibatches = {f"{algorithm}.num_minibatches": 2} if algorithm in ("ppo", "pqn") else {}
    run = operant.train(
        WhereIsIt, algorithm=algorithm, total_env_steps=256, **SMALL, **own, **minibatches
    )
    policy = operant.load(run)._trained.policy
    (encoder, *_) = [x for x in policy.modules() if isinstance(x, PartsEncoder)]
    assert encoder.images[0].largest == 255
    features = encoder(torch.full((1, 151), 255.0))
    assert features.shape == (1, encoder.num_features)


@pytest.mark.slow
def test_what_only_the_picture_says_is_learned():
    run = operant.train(WhereIsIt, total_env_steps=40_000, evaluation={"num_episodes": 20})
    assert operant.evaluate(run, 50).mean() > 42  # chance is 25


def test_vectors_in_a_dictionary_need_no_encoder():
    space = Dict({"a": Box(-1, 1, (3,), np.float32), "b": Discrete(2)})
    assert all(part.encoder == "mlp" for part in obs_parts(spec_of(space)))


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (Dict({}), "has no numbers in it"),
        (Sequence(Box(-1, 1, (2,), np.float32)), "observations have Sequence"),
        (Dict({"a": Text(5), "b": Discrete(2)}), "observations have Text"),
    ],
)
def test_what_has_no_fixed_size_is_refused_in_one_line(space, words):
    with pytest.raises(operant.UsageError, match=words) as raised:
        spec_of(space)
    assert "\n" not in str(raised.value)


def test_normalisation_is_refused_for_pictures():
    with pytest.raises(operant.UsageError, match=r"normalization.obs = true: observations have im"):
        operant.train(WhereIsIt, total_env_steps=256, **SMALL, **{"normalization.obs": True})
