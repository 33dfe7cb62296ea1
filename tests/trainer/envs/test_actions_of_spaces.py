"""Actions reach environments in the type and within the bounds of their space."""

from __future__ import annotations

from contextlib import closing

import gymnasium
import numpy as np
import pytest
from exact_envs import SPACES, Exact, ExactParallel, ExactVector, check
from vector_envs import vector_envs

from operant.shared.errors import ConfigError, UsageError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.checking import EnvError
from operant.trainer.envs.hosts import load_spec, make_envs
from operant.trainer.envs.own_envs import check_own, register_own
from operant.trainer.envs.spaces import action_spec
from operant.trainer.envs.vector import Transitions
from operant.trainer.experiment.trained_policy import TrainedPolicy
from operant.trainer.experiment.untrained import make_policy
from operant.trainer.jit.streams import EVALUATION, TRAINING
from operant.trainer.playing.gymnasium_episodes import GymnasiumEpisodes
from operant.trainer.spaces import Box, Discrete, choices_of, starts_of


def rows_at_the_ends(spec, num_rows):
    """Actions of a policy: the lowest first, then the highest."""
    if isinstance(spec, Box):
        ends = np.array([spec.low, spec.high], np.float32)
    else:
        first = np.array(starts_of(spec))
        ends = np.array([first, first + np.array(choices_of(spec)) - 1])
    rows = ends[np.arange(num_rows) % 2]
    return rows[:, 0] if isinstance(spec, Discrete) else rows


def step_all(envs, spec):
    with closing(envs):
        out = Transitions.of(spec, envs.num_rows)
        envs.reset(out.obs)
        for _ in range(4):
            envs.step(rows_at_the_ends(spec.actions, envs.num_rows), out)


@pytest.mark.parametrize("kind", SPACES)
def test_environments_one_by_one_vector_environments_and_agents_get_exact_actions(
    kind, monkeypatch
):
    name = register_own(lambda: Exact(kind))
    for stream in (TRAINING, EVALUATION):
        spec = load_spec(name)
        step_all(make_envs(spec, 2, 1, stream), spec)
    envs = vector_envs(lambda n: ExactVector(kind, n), 2)
    step_all(envs, envs.spec)
    # By `module:function`, which is what agents are found by.
    monkeypatch.setattr("exact_envs.make", lambda: ExactParallel(kind), raising=False)
    spec = load_spec("pettingzoo:exact_envs:make")
    step_all(make_envs(spec, 2, 1, TRAINING), spec)


@pytest.mark.parametrize("kind", SPACES)
def test_the_trial_step_and_play_give_exact_actions(kind):
    check_own(lambda: Exact(kind))
    name = register_own(lambda: Exact(kind))
    config = make_config({}, [f"env={name}", "policy.hidden_sizes=[2]"])
    episodes = GymnasiumEpisodes(TrainedPolicy(make_policy(config), config, 0))
    with closing(episodes):
        episodes.begin(1, 0)
        assert [episodes.step() for _ in range(3)] == [False, False, True]


def test_a_wrong_action_would_be_noticed():
    with pytest.raises(AssertionError):
        check(SPACES["int32"], np.zeros(2, np.int64))
    with pytest.raises(AssertionError):
        check(SPACES["discrete"], np.array(5))


NAN = np.array([[0.0, 0.1], [np.nan, 0.1]], np.float32)
NAN_SAID = r"env = '.*': the policy gives step an action with NaN or infinity: \[nan 0\.1\]; .*obs"


def test_nan_actions_reach_no_environment():
    spec = load_spec(register_own(lambda: Exact("float32")))
    hosts = (
        make_envs(spec, 2, 1, TRAINING),
        vector_envs(lambda n: ExactVector("float32", n), 2),
    )
    for envs in hosts:
        out = Transitions.of(spec, 2)
        envs.reset(out.obs)
        with closing(envs), pytest.raises(EnvError, match=NAN_SAID):
            envs.step(NAN, out)


def test_nan_actions_are_not_played():
    name = register_own(lambda: Exact("float32"))
    config = make_config({}, [f"env={name}", "policy.hidden_sizes=[2]"])
    policy = make_policy(config)
    policy.flat_parameters.detach().fill_(np.nan)
    episodes = GymnasiumEpisodes(TrainedPolicy(policy, config, 0))
    episodes.begin(1, 0)
    with closing(episodes), pytest.raises(UsageError, match="an action with NaN or infinity"):
        episodes.step()


@pytest.mark.parametrize("high", [3.4e38, np.finfo(np.float32).max, 9.3e18, np.inf])
def test_bounds_that_are_none_are_refused_as_such(high):
    space = gymnasium.spaces.Box(-high, high, (2,), np.float32)
    with pytest.raises(ConfigError, match=r"actions are Box.*bounds from 1e\+18 on count as"):
        action_spec(gymnasium, "gymnasium:Wide-v0", space)
