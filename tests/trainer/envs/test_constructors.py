"""Errors of constructors are one line, and `--traceback` shows where they were raised."""

from __future__ import annotations

import inspect
import sys
from contextlib import closing

import exact_envs
import gymnasium
import numpy as np
import pytest
import torch
from command_line import error_line, operant
from exact_envs import Exact
from gymnasium.envs.registration import EnvSpec
from vector_envs import vector_envs

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.checking import EnvError, check_reset
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.own_envs import check_own, register_own
from operant.trainer.envs.vector import Transitions
from operant.trainer.jit.streams import TRAINING

ERRORS = {
    "AssertionError": AssertionError("no map\nat all"),
    "RuntimeError": RuntimeError("no map"),
    "TypeError": TypeError("no map"),
    "KeyError": KeyError("map"),
    "ValueError": ValueError("no map"),
    "AttributeError": AttributeError("no map"),
    "FileNotFoundError": FileNotFoundError(2, "no map", "/map"),
}
ENVS = {
    "gymnasium:exact_envs:failing": (),
    "gymnasium:Failing-v0": (),
    "gymnasium:FailingVector-v0": ("gymnasium.vectorization=own",),
    "pettingzoo:exact_envs:failing": (),
    "native:exact_envs:failing": (),
}


@pytest.fixture
def fail(monkeypatch):
    """The environments of ENVS raise this."""

    def fail_by(error):
        def failing(*_, **__):
            raise error

        monkeypatch.setattr(exact_envs, "failing", failing, raising=False)
        one = EnvSpec("Failing-v0", entry_point=failing)
        vector = EnvSpec("FailingVector-v0", vector_entry_point=failing)
        for spec in (one, vector):
            monkeypatch.setitem(gymnasium.registry, spec.id, spec)

    return fail_by


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("name", ERRORS)
def test_a_constructor_fails_in_one_line_with_the_class_of_its_error(env, name, fail):
    fail(ERRORS[name])
    with pytest.raises(ConfigError) as raised:
        make_config({}, [f"env={env}", *ENVS[env]])
    said = str(raised.value)
    assert said.startswith(f"env = '{env}': making it fails: {name}: ")
    assert "map" in said
    assert "\n" not in said
    assert type(raised.value.__cause__) is type(ERRORS[name])


def test_the_option_shows_where(fail):
    fail(KeyError("map"))
    env = "gymnasium:exact_envs:failing"
    line = f"operant: env = '{env}': making it fails: KeyError: 'map'"
    assert error_line("train", env) == f"{line} (--traceback shows where)\n"
    *traceback, last = operant("train", env, "--traceback").stderr.splitlines()
    assert last == line
    assert traceback[0] == "Traceback (most recent call last):"
    assert any("in failing" in each for each in traceback)


def test_a_copy_that_cannot_be_made_is_named_as_the_first():
    copies = []

    def make():
        copies.append(1)
        if len(copies) > 2:
            raise OSError("one robot is there")
        return Exact("discrete")

    spec = load_spec(register_own(make))
    with pytest.raises(ConfigError, match="making it fails: OSError: one robot is there"):
        make_envs(spec, 2, 1, TRAINING)


def test_a_module_that_needs_an_extra_says_which(monkeypatch, tmp_path):
    (tmp_path / "of_agents.py").write_text("from pettingzoo import ParallelEnv\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(
        ConfigError, match=r"'pettingzoo'.*; pip install 'operant-rl\[pettingzoo\]'"
    ):
        make_config({}, ["env=pettingzoo:of_agents:make"])


def test_the_seed_of_an_action_space_that_fails_is_not_needed():
    class Seeded(gymnasium.spaces.Discrete):
        def seed(self, seed=None):
            raise NotImplementedError

    env = Exact("discrete")
    env.action_space = Seeded(3)
    check_own(lambda: env)


def test_a_reset_without_a_seed_is_refused():
    class Unseeded(Exact):
        def reset(self):
            return super().reset()

    with pytest.raises(ConfigError, match="reset takes no seed, expected reset"):
        load_spec(register_own(lambda: Unseeded("discrete")))

    class Seedless(gymnasium.Wrapper):
        def reset(self, *, seed=None, options=None):
            return self.env.reset()

    own = register_own(lambda: gymnasium.wrappers.TimeLimit(Seedless(Unseeded("discrete")), 9))
    assert load_spec(own).actions.n == 3


def test_a_compiled_reset_is_taken_as_it_is():
    class Compiled(Exact):
        def __getattribute__(self, name):
            return min if name == "reset" else super().__getattribute__(name)

    with pytest.raises(ValueError, match="no signature found"):
        inspect.signature(Compiled("discrete").reset)
    check_reset(Compiled("discrete"), "env = 'compiled'")


TENSOR = torch.ones((), requires_grad=True)
OBS = torch.zeros(2, requires_grad=True)


@pytest.mark.parametrize(
    ("obs", "reward", "said"),
    [
        (np.zeros(2, np.float32), TENSOR, r"step gives the reward tensor\(1\., .*; call its det"),
        (OBS, 1.0, r"step gives an observation with a gradient; call its detach\(\)"),
        (np.zeros(2, np.float32), TENSOR.detach(), ""),
    ],
)
def test_numbers_with_a_gradient_are_named(obs, reward, said):
    class Graded(Exact):
        def step(self, action):
            super().step(action)
            return obs, reward, False, False, {}

    if said:
        with pytest.raises(ConfigError, match=said):
            check_own(lambda: Graded("discrete"))
    spec = load_spec(register_own(lambda: Graded("discrete")))
    with closing(make_envs(spec, 1, 1, TRAINING)) as envs:
        out = Transitions.of(spec, 1)
        envs.reset(out.obs)
        if not said:
            envs.step(np.array([5]), out)
            assert out.reward.tolist() == [1.0]
            return
        with pytest.raises(EnvError, match=said):
            envs.step(np.array([5]), out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({1: [TENSOR]}, r"step gives the rewards \[tensor"),
        ({1: np.array([np.nan])}, r"step gives the rewards array\(\[nan\]\), expected 1 finite"),
        ({1: np.zeros(2)}, r"step gives the rewards array\(\[0\., 0\.\]\), expected 1 finite"),
        ({0: np.full((1, 2), np.nan)}, "step gives observations with NaN or infinity"),
        ({4: ...}, "step gives a tuple of 4, expected a tuple"),
    ],
)
def test_a_wrong_step_of_a_vector_environment_is_named(change, said):
    class Changed(exact_envs.ExactVector):
        def step(self, actions):
            given = {**dict(enumerate(super().step(actions))), **change}
            return tuple(each for each in given.values() if each is not ...)

    envs = vector_envs(lambda n: Changed("discrete", n), 1)
    out = Transitions.of(envs.spec, 1)
    envs.reset(out.obs)
    with pytest.raises(EnvError, match=f"^env = 'gymnasium:Toy-v0': {said}"):
        envs.step(np.array([5]), out)
