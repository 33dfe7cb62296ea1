"""The effects of the table [minatar], and the random draws of episodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config, resolve
from operant.trainer.envs.hosts import describe, load_spec
from operant.trainer.envs.minatar import game
from operant.trainer.envs.minatar.common import DRAW, OWN, PREVIOUS_ACTION, STEP
from operant.trainer.envs.names import MINATAR_ENV_NAMES
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.jit.compiling import compiled
from operant.trainer.jit.templates import rebound
from operant.trainer.policies.encoder import make_encoder
from operant.trainer.settings.policy import PolicyConfig

pytestmark = pytest.mark.slow

BREAKOUT = "minatar_breakout_pqn"
NUM_ENVS = 4096


class Played:
    """Environments of a configuration, and what their last step gave."""

    def __init__(self, *overrides, num_envs=NUM_ENVS):
        self.spec = describe(load_config(BREAKOUT, overrides))
        self.envs = VectorEnv(self.spec, num_envs, seed=1)
        self.out = Transitions.of(self.spec, num_envs)
        self.envs.reset(self.out.obs)

    def step(self, action):
        self.envs.step(np.full(self.envs.num_envs, action), self.out)
        return self.out

    @property
    def previous(self):
        return self.envs.state.fields[PREVIOUS_ACTION]


def test_a_tenth_of_the_steps_is_sticky_unless_the_table_says_otherwise():
    for overrides, low, high in (((), 0.08, 0.12), (("minatar.sticky_actions=0.5",), 0.47, 0.53)):
        played = Played(*overrides)
        played.step(1)
        assert low < (played.previous == 0).mean() < high
    played = Played("minatar.sticky_actions=0")
    played.step(1)
    assert (played.previous == 1).all()


def test_minimal_actions_and_a_limit_of_steps_make_gymnaxs_protocol():
    protocol = ("sticky_actions=0", "minimal_actions=true", "max_steps=4")
    played = Played(*(f"minatar.{setting}" for setting in protocol), num_envs=2)
    assert played.spec.actions.n == 3
    flags = [played.step(2).truncated.tolist() for _ in range(8)]
    assert flags == ([[False] * 2] * 3 + [[True] * 2]) * 2
    assert (played.previous == 3).all()


@pytest.mark.parametrize("name", MINATAR_ENV_NAMES)
def test_observations_are_bytes_that_the_encoder_reads_as_0_and_1(name):
    spec = load_spec(name)
    envs, out = VectorEnv(spec, 8, seed=1), Transitions.of(spec, 8)
    envs.reset(out.obs)
    for step in range(40):
        envs.step(np.full(8, step % 6), out)
    assert out.obs.dtype == out.final_obs.dtype == np.uint8
    assert set(np.unique(out.obs)) == {0, 1}
    by_bytes, by_numbers = (
        make_encoder(PolicyConfig(), each, seed=3)
        for each in (spec, replace(spec, obs_type=np.float32))
    )
    obs = torch.from_numpy(out.obs)
    assert torch.equal(by_bytes(obs), by_numbers(obs.float()))


def test_rollouts_and_replays_keep_the_bytes():
    small = ("num_envs=4", "rollout_steps=8", "minatar.max_steps=3", "num_threads=1")
    rollouts = resolve("minatar_freeway_pqn", (*small, "pqn.num_minibatches=1")).config
    rollout = processor_experiment(rollouts).collector.rollout
    assert rollout.obs.dtype == rollout.final_obs.dtype == torch.uint8
    replays = resolve("minatar_freeway", ("algorithm=dqn", *small, "replay.capacity=10000")).config
    assert processor_experiment(replays).algorithm.replay.arrays["obs"].dtype == torch.uint8


def test_ramping_is_refused_where_there_is_none():
    with pytest.raises(ConfigError, match="minatar_breakout never becomes harder") as caught:
        load_config(BREAKOUT, ["minatar.ramping=false"])
    assert "\n" not in str(caught.value)


def test_draws_are_uniform_and_differ_by_episode_step_and_number():
    begin, real = (compiled(rebound(f, compiled, {})) for f in (game.begin_draws, game.draw_real))
    integer = compiled(rebound(game.draw_integer, compiled, {}))
    state = np.zeros((OWN, 1), np.float32)
    reals, integers = [], []
    for episode in range(20):
        begin(state, 0, (np.int64(0), np.int64(episode), np.uint64(1), np.uint64(0)))
        for step in range(50):
            state[STEP], state[DRAW] = step, 0
            reals += [real(state, 0) for _ in range(3)]
            integers += [integer(state, 0, 1, 5) for _ in range(3)]
    assert len(set(reals)) > 0.999 * len(reals)
    assert np.histogram(reals, 10, (0, 1))[0] == pytest.approx(300, abs=80)
    assert np.unique(integers, return_counts=True)[0].tolist() == [1, 2, 3, 4, 5]
    assert np.unique(integers, return_counts=True)[1] == pytest.approx(600, abs=110)
