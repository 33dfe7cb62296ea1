"""MuJoCo on mjbatch: Gymnasium's environments to the bit, and resuming."""

from __future__ import annotations

import importlib.util
import re
import sys

import gymnasium
import numpy as np
import pytest
from command_line import python

from operant.shared.errors import ConfigError
from operant.shared.install_command import install_command
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.env_warnings import env_warnings
from operant.trainer.envs.hosts import describe, describe_again, make_envs
from operant.trainer.envs.mujoco import host
from operant.trainer.envs.mujoco.host import MujocoEnvs, MujocoVector
from operant.trainer.envs.mujoco.host import describe as load_mujoco_spec
from operant.trainer.envs.mujoco.tasks import TASKS
from operant.trainer.envs.vector import Transitions
from operant.trainer.jit.streams import EVALUATION, TRAINING
from operant.trainer.playing.gymnasium_episodes import make_drawn

NUM_ENVS = 5
SEED = 3
MUJOCO = "env=gymnasium:HalfCheetah-v5"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mjbatch") is None, reason="needs the extra mujoco"
)


def actions_of(spec, rng, num_envs=NUM_ENVS):
    low, high = np.array(spec.actions.low), np.array(spec.actions.high)
    return rng.uniform(low, high, (num_envs, len(low))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("env_id", TASKS)
def test_10_000_steps_equal_gymnasiums(env_id):
    vector = MujocoVector(load_mujoco_spec(env_id, 2), NUM_ENVS)
    envs = [gymnasium.make(env_id) for _ in range(NUM_ENVS)]
    spec, rng = load_mujoco_spec(env_id, 2), np.random.default_rng(0)
    obs, _ = vector.reset(seed=SEED)
    theirs = np.stack([env.reset(seed=SEED + number)[0] for number, env in enumerate(envs)])
    assert np.array_equal(obs, theirs)
    ends = np.zeros(2, int)
    for _ in range(10_000 // NUM_ENVS):
        actions = actions_of(spec, rng)
        obs, rewards, terminated, truncated, _ = vector.step(actions)
        steps = [env.step(action) for env, action in zip(envs, actions, strict=True)]
        assert np.array_equal(obs, np.stack([step[0] for step in steps]))
        # The last bit of a square may differ: Gymnasium's are of single numbers.
        np.testing.assert_array_max_ulp(rewards, np.array([step[1] for step in steps], float), 2)
        assert terminated.tolist() == [step[2] for step in steps]
        assert truncated.tolist() == [step[3] for step in steps]
        ends += terminated.sum(), truncated.sum()
        done = terminated | truncated
        if done.any():
            obs, _ = vector.reset(options={"reset_mask": done})
            theirs = np.stack([envs[env].reset()[0] for env in np.flatnonzero(done)])
            assert np.array_equal(obs[done], theirs)
    assert ends.sum() >= NUM_ENVS
    assert bool(ends[0]) == (env_id.startswith(("Hopper", "Walker2d", "Inverted")))


@pytest.mark.parametrize("env_id", ["Hopper-v5", "Reacher-v5"])
def test_mjbatch_and_workers_give_the_same_transitions(env_id):
    both = []
    for way in ("sync", "mjbatch"):
        config = make_config({}, [f"env=gymnasium:{env_id}", f"gymnasium.vectorization={way}"])
        both.append(make_envs(describe(config), NUM_ENVS, SEED, EVALUATION, first_env=7))
    outs = [Transitions.of(envs.spec, NUM_ENVS) for envs in both]
    for envs, out in zip(both, outs, strict=True):
        envs.reset(out.obs)
    assert np.array_equal(outs[0].obs, outs[1].obs)
    rng = np.random.default_rng(1)
    for _ in range(120):
        actions = actions_of(both[0].spec, rng)
        for envs, out in zip(both, outs, strict=True):
            envs.step(actions, out)
        for name, one, other in zip(Transitions._fields, *outs, strict=True):
            assert np.array_equal(one, other), name
    totals = [envs.take_episode_totals() for envs in both]
    assert totals[0] == totals[1]
    assert totals[0][0] >= NUM_ENVS


def test_a_state_that_is_loaded_goes_on_to_the_bit():
    spec = load_mujoco_spec("Hopper-v5", 2)
    first = MujocoEnvs(spec, NUM_ENVS, SEED, TRAINING)
    out, rng = Transitions.of(spec, NUM_ENVS), np.random.default_rng(2)
    first.reset(out.obs)
    for _ in range(60):
        first.step(actions_of(spec, rng), out)
    second = MujocoEnvs(spec, NUM_ENVS, SEED + 1, TRAINING)
    other = Transitions.of(spec, NUM_ENVS)
    second.reset(other.obs)
    second.load_state_dict(first.state_dict())
    first.take_episode_totals()
    for _ in range(150):
        actions = actions_of(spec, rng)
        first.step(actions, out)
        second.step(actions, other)
        for name in ("obs", "reward", "terminated", "truncated"):
            assert np.array_equal(getattr(out, name), getattr(other, name)), name
    assert first.take_episode_totals() == second.take_episode_totals()


@pytest.mark.parametrize(
    ("overrides", "host"),
    [
        ((MUJOCO,), "mjbatch"),
        ((MUJOCO, "gymnasium.vectorization=sync"), "workers"),
        ((MUJOCO, "workers.num_workers=2", "num_envs=2"), "workers"),
        ((MUJOCO, "workers.timeout_s=9"), "workers"),
        (("env=gymnasium:Ant-v5",), "workers"),  # needs contact forces
        (("env=gymnasium:CartPole-v1",), "workers"),
    ],
)
def test_who_steps(overrides, host):
    assert describe(make_config({}, overrides)).stepped_by == host


def test_other_environments_are_refused():
    with pytest.raises(ConfigError, match=r"'gymnasium:Ant-v5' is not one of .*; use sync"):
        make_config({}, ["env=gymnasium:Ant-v5", "gymnasium.vectorization=mjbatch"])


def test_without_mjbatch_the_error_has_the_command(monkeypatch):
    describe_again()
    monkeypatch.setitem(sys.modules, "mjbatch", None)
    with pytest.raises(ConfigError, match=re.escape(f"needs mjbatch: {install_command('mujoco')}")):
        make_config({}, [MUJOCO, "gymnasium.vectorization=mjbatch"])


def test_without_mujoco_the_error_has_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for module in [name for name in sys.modules if name.startswith("gymnasium.envs.mujoco")]:
        monkeypatch.delitem(sys.modules, module)
    wanted = re.escape(f"Ant-v5': MuJoCo is not installed: {install_command('mujoco')}")
    with pytest.raises(ConfigError, match=wanted):
        make_config({}, ["env=gymnasium:Ant-v5"])


def test_old_versions_are_refused_with_the_new_id(recwarn):
    with pytest.raises(ConfigError, match="use Walker2d-v5"):
        make_config({}, ["env=gymnasium:Walker2d-v2"])
    assert not recwarn.list


def test_another_hosts_state_is_refused():
    envs = MujocoEnvs(load_mujoco_spec("Reacher-v5", 1), NUM_ENVS, SEED, TRAINING)
    with pytest.raises(ConfigError, match=r"use gymnasium\.vectorization = sync"):
        envs.load_state_dict({"num_resumed": 1})


def test_without_mjbatch_gymnasium_steps_and_an_event_says_why(monkeypatch):
    def warnings(*overrides):
        return env_warnings(make_config({}, ["env=gymnasium:Hopper-v5", *overrides]).facts(), 1)

    assert warnings() == warnings("gymnasium.vectorization=sync") == []
    begins = "Hopper-v5 is stepped without mjbatch, which would be faster: "
    remedy = "leave [workers] and [preprocessing] at their defaults"
    assert warnings("workers.num_workers=2") == [begins + remedy]

    def fails():
        raise ImportError("libmujoco.so.0: cannot open shared object file")

    monkeypatch.setattr(host, "import_mjbatch", fails)
    assert describe(make_config({}, ["env=gymnasium:Hopper-v5"])).stepped_by == "workers"
    assert warnings() == [begins + install_command("mujoco")]


@pytest.mark.parametrize("way", ["osmesa", "none-such"])
def test_what_mujoco_cannot_draw_with_is_one_line(way, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", way)
    code = "from operant.trainer.envs.spaces import import_gymnasium as go; go('Hopper-v5')"
    done = python("-c", code)
    last = done.stderr.splitlines()[-1] if done.stderr else ""
    if way == "osmesa" and not done.returncode:
        pytest.skip("this machine has OSMesa")
    assert f"ConfigError: MUJOCO_GL={way}: MuJoCo cannot draw with that here (" in last


def test_the_camera_follows_a_robot_that_walks_away(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    for env_id, camera in (("HalfCheetah-v5", "track"), ("Reacher-v5", None)):
        env = make_drawn(env_id)
        assert env.unwrapped.camera_name == camera
        env.close()
