"""Features of an environment that operant ignores cause one warning, before training."""

from __future__ import annotations

from contextlib import closing

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from operant.shared.runs.run_folder import create_run
from operant.shared.runs.status import open_page
from operant.trainer.config.files import load_config, resolve
from operant.trainer.envs.env_warnings import env_warnings
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.masks import UNUSED_KEYS, UNUSED_METHODS
from operant.trainer.envs.own_envs import register_own
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.dividing import WorkerPlan
from operant.trainer.jit.streams import TRAINING
from operant.trainer.running.process import Prepared, run_training

MASKS = "the environment offers action masks that operant does not use: illegal actions will be tr"
JOINED = "observations are dictionaries (goal, vector): their parts are joined as they are"
BYTES = "observations are bytes, 0 to 255, and are not scaled"
NUMBERS = spaces.Box(-1, 1, (3,), np.float32)
PICTURE = spaces.Box(0, 255, (210, 160, 3), np.uint8)
IMAGES = "observations are images of 210x160x3 = 100,800 inputs without convolutions"


class Shown(gymnasium.Env):
    """Shows a sample of `space`, and tells `info`."""

    action_space = spaces.Discrete(2)

    def __init__(self, space=NUMBERS, info=None):
        self.observation_space, self.info = space, info or {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample(), self.info

    def step(self, action):
        return self.observation_space.sample(), 1.0, True, False, self.info


class Masked(Shown):
    def action_masks(self):
        return np.ones(2, np.bool_)


class Joined(Shown):
    def __init__(self):
        super().__init__(spaces.Dict({"goal": NUMBERS, "vector": NUMBERS}))


class Broken(Shown):
    def reset(self, *, seed=None, options=None):
        raise RuntimeError("no simulator")


@pytest.fixture
def warnings_of(monkeypatch):
    """The warnings about an environment in a configuration with `overrides`."""

    def of(env: gymnasium.Env, *overrides: str) -> list[str]:
        shown = EnvSpec("Shown-v0", entry_point=lambda **_: env)
        monkeypatch.setitem(gymnasium.registry, "Shown-v0", shown)
        config = load_config("gymnasium:Shown-v0", ["policy.hidden_sizes=[2]", *overrides])
        return env_warnings(config.facts(), config.seed)

    return of


def test_vectors_of_numbers_are_nothing_to_say(warnings_of):
    assert warnings_of(Shown()) == []
    assert env_warnings(load_config("gymnasium:CartPole-v1").facts(), 1) == []
    assert env_warnings(load_config("cart_pole").facts(), 1) == []


def test_pictures_are_said_with_their_size_and_what_to_do(warnings_of):
    assert warnings_of(Shown(PICTURE)) == []  # convolutions read it
    images, of_bytes = warnings_of(Shown(PICTURE), "policy.encoder=mlp")
    assert images.startswith(IMAGES)
    assert "policy.encoder = auto" in images
    assert of_bytes.startswith(BYTES)
    overrides = ("policy.encoder=mlp", "normalization.obs=true")
    assert warnings_of(Shown(PICTURE), *overrides) == [images]
    # A board is no picture.
    assert warnings_of(Shown(spaces.Box(0, 1, (6, 7), np.float32))) == []


def test_dictionaries_and_tuples_are_said_with_their_parts(warnings_of):
    space = spaces.Dict({"image": PICTURE, "vector": NUMBERS})
    assert warnings_of(Shown(space)) == []  # the picture has an encoder of its own
    joined, images, of_bytes = warnings_of(Shown(space), "policy.encoder=mlp")
    assert joined.startswith(
        "observations are dictionaries (image, vector): their parts are joined"
    )
    assert "normalization.obs=true" in joined
    assert images.startswith(IMAGES)
    assert of_bytes.startswith(BYTES)
    (tuples,) = warnings_of(Shown(spaces.Tuple((NUMBERS, NUMBERS))))
    assert tuples.startswith("observations are tuples of 2 parts")
    scaled = spaces.Dict({"vector": NUMBERS, "goal": NUMBERS})
    assert warnings_of(Shown(scaled), "normalization.obs=true") == []


@pytest.mark.parametrize(
    "env",
    [
        Masked(),
        gymnasium.wrappers.TimeLimit(Masked(), 5),
        Shown(info={"action_mask": np.ones(2, np.int8)}),
    ],
    ids=["method", "behind a wrapper", "info"],
)
def test_masks_that_are_used_are_nothing_to_say(warnings_of, env):
    assert warnings_of(env) == []


@pytest.mark.parametrize("name", UNUSED_METHODS)
def test_masks_of_another_method_are_said(warnings_of, name, monkeypatch):
    monkeypatch.setattr(Shown, name, lambda self: np.ones(2, np.bool_), raising=False)
    (masks,) = warnings_of(Shown())
    assert masks.startswith(MASKS)
    assert f"it has the method {name}(), and operant uses" in masks


@pytest.mark.parametrize("key", sorted(UNUSED_KEYS - {"action_mask"}))
def test_masks_under_another_key_are_said(warnings_of, key):
    (masks,) = warnings_of(Shown(info={key: [1, 0]}))
    assert f"it has info['{key}'], and operant uses" in masks
    space = spaces.Dict({"observation": NUMBERS, key: spaces.MultiBinary(2)})
    (masks,) = [each for each in warnings_of(Shown(space)) if each.startswith(MASKS)]
    assert f"it has the key '{key}' of observations, and operant uses" in masks


def test_another_thing_that_is_called_mask_is_nothing_to_say(warnings_of):
    assert warnings_of(Shown(info={"mask": np.ones((8, 8))})) == []
    assert warnings_of(Shown(info={"mask": [[1], [0, 1]]})) == []


def test_masks_that_are_no_array_are_said(warnings_of):
    (masks,) = warnings_of(Shown(info={"legal_actions": [[0], [0, 1]]}))
    assert "it has info['legal_actions'], and operant uses" in masks


@pytest.mark.parametrize("num_workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_masks_that_only_steps_give_are_said_in_training(num_workers):
    class InSteps(Shown):
        def step(self, action):
            return *super().step(action)[:4], {"action_mask": np.ones(2, np.int8)}

    spec = load_spec(register_own(InSteps), WorkerPlan(num_workers))
    with closing(make_envs(spec, 2, 1, TRAINING)) as envs:
        out = Transitions.of(spec, 2)
        envs.reset(out.obs)
        for _ in range(3):
            envs.step(np.zeros(2, np.int64), out)
        (notice,) = [*envs.take_notices(), *envs.take_notices()]
    assert "it has info['action_mask'], and operant uses 'action_mask' of" in notice


def test_masks_that_fit_no_actions_are_said(warnings_of):
    class Real(Shown):
        action_space = spaces.Box(-1, 1, (2,), np.float32)

    space = spaces.Dict({"observation": NUMBERS, "action_mask": spaces.MultiBinary(2)})
    (masks,) = warnings_of(Real(space))
    assert masks.startswith(MASKS)


def test_masks_among_observations_are_used(warnings_of):
    masks = spaces.MultiBinary(2)
    assert warnings_of(Shown(spaces.Dict({"observation": NUMBERS, "action_mask": masks}))) == []
    space = spaces.Dict({"goal": NUMBERS, "vector": NUMBERS, "action_mask": masks})
    (joined,) = warnings_of(Shown(space))
    assert joined.startswith(JOINED)
    assert env_warnings(load_config("pettingzoo:parallel_envs:make_masked").facts(), 1) == []


def test_an_environment_that_cannot_be_looked_at_is_left_to_the_run(warnings_of):
    assert warnings_of(Broken()) == []


@pytest.mark.slow
def test_a_run_says_its_settings_first_and_then_what_it_overlooks(capsys, monkeypatch):
    monkeypatch.setitem(gymnasium.registry, "Joined-v0", EnvSpec("Joined-v0", entry_point=Joined))
    config, sources, _ = resolve(
        "gymnasium:Joined-v0",
        [
            "algorithm=dqn", "policy.hidden_sizes=[2]", "total_env_steps=8", "num_threads=1",
            "evaluation.num_episodes=0",
        ],
    )  # fmt: skip
    run, lock = create_run("joined", {"sources": sources})
    assert run_training(Prepared(run, lock, config)) == 0
    settings, *others = open_page(run).events()
    told = (
        "started dqn on Joined-v0: defaults of dqn, 4 settings by you: policy.hidden_sizes, "
        "total_env_steps, num_threads, evaluation.num_episodes"
    )
    assert (settings.level, settings.text) == ("info", told)
    (joined,) = [e.text for e in others if e.level == "warning" and "joined" in e.text]
    assert joined.startswith(JOINED)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"operant: {told}"
    assert f"operant: warning: {joined}" in lines
