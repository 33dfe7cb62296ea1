"""Time limits, resets and random streams, the same for every environment."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.names import ENV_NAMES, MINATAR_ENV_NAMES
from operant.trainer.envs.spec import EnvSpec
from operant.trainer.envs.stepping import one_by_one
from operant.trainer.envs.vector import BLOCK, Transitions, VectorEnv
from operant.trainer.jit.streams import EVALUATION
from operant.trainer.spaces import Box, Discrete, MultiDiscrete

slow = pytest.mark.slow
BEYOND = [x for x in (*ENV_NAMES, *MINATAR_ENV_NAMES) if x != "cart_pole"]


def count_reset(state, env, random):
    state[0, env] = 0


def count_step(state, env, action):
    """Counts up by the action; the task ends at 5. The reward is the count."""
    state[0, env] += action
    return state[0, env], state[0, env] >= 5


def count_observe(state, env, obs):
    obs[env, 0] = state[0, env]


COUNTER = EnvSpec(
    "counter", 1, Discrete(3), state_size=1, max_episode_steps=4,
    reset=count_reset, step=count_step, observe=count_observe,
)  # fmt: skip


def switch_step(state, env, action):
    """Adds up the second of two choices; the first says whether the task ends."""
    state[0, env] += action[1]
    return state[0, env], action[0] == 1


SWITCH = EnvSpec(
    "switch", 1, MultiDiscrete((2, 5)), state_size=1, max_episode_steps=9,
    reset=count_reset, step=switch_step, observe=count_observe,
)  # fmt: skip


class Stepped:
    """A vector environment with memory for its transitions."""

    def __init__(self, spec, num_envs, seed=1, **options):
        self.envs = VectorEnv(spec, num_envs, seed, **options)
        self.out = Transitions.empty(spec.obs_size, num_envs)
        self.out.final_obs[:] = np.nan
        self.obs = self.out.obs
        self.envs.reset(self.obs)

    def step(self, actions):
        self.envs.step(np.asarray(actions), self.out)
        return self.out


@slow
def test_the_end_of_the_task_is_terminated_and_starts_anew_at_once():
    counter = Stepped(COUNTER, 2)
    counter.step([2, 0])
    counter.step([2, 0])
    out = counter.step([2, 0])
    assert out.terminated.tolist() == [True, False]
    assert not out.truncated.any()
    assert out.reward.tolist() == [6.0, 0.0]
    assert out.obs[:, 0].tolist() == [0.0, 0.0]  # already the next episode
    assert out.final_obs[0, 0] == 6.0  # where the episode ended
    assert np.isnan(out.final_obs[1, 0])  # untouched where none did


@slow
def test_the_time_limit_is_truncated_and_keeps_where_the_episode_was():
    counter = Stepped(COUNTER, 1)
    flags = []
    for _ in range(9):
        out = counter.step([1])
        flags.append((bool(out.terminated[0]), bool(out.truncated[0])))
        if out.truncated[0]:
            assert out.final_obs[0, 0] == 4.0
            assert out.obs[0, 0] == 0.0
    nothing, limit = (False, False), (False, True)
    assert flags == [nothing] * 3 + [limit] + [nothing] * 3 + [limit] + [nothing]


@slow
def test_when_both_happen_in_one_step_terminated_wins():
    counter = Stepped(COUNTER, 1)
    for action in (1, 1, 1):
        counter.step([action])
    out = counter.step([2])  # the fourth step, and the count reaches 5
    assert (out.terminated[0], out.truncated[0]) == (True, False)


@slow
def test_returns_and_lengths_of_ended_episodes_are_counted_once():
    counter = Stepped(COUNTER, 2)
    for _ in range(4):
        counter.step([2, 1])
    # env 0: rewards 2, 4, 6 and terminated, then one more step; env 1: 1, 2, 3, 4 and truncated
    assert counter.envs.take_episode_totals() == (2, 12.0 + 10.0, 3.0 + 4.0)
    assert counter.envs.take_episode_totals() == (0, 0.0, 0.0)


def test_a_reset_begins_the_first_episode_again_whatever_episodes_came_before():
    stepped = Stepped(load_spec("cart_pole"), 3)
    first = stepped.obs.copy()
    stepped.envs.begin_anew(1, stepped.obs)
    assert (stepped.obs == first).all(1).tolist() == [True, False, True]
    stepped.envs.reset(stepped.obs)
    assert np.array_equal(stepped.obs, first)


@slow
def test_several_discrete_actions_reach_their_environment_together():
    switch = Stepped(SWITCH, 3)
    switch.step([[0, 4], [0, 1], [0, 0]])
    out = switch.step([[0, 3], [1, 2], [0, 1]])
    assert out.reward.tolist() == [7.0, 3.0, 1.0]
    assert out.terminated.tolist() == [False, True, False]
    assert out.obs[:, 0].tolist() == [7.0, 0.0, 1.0]


def random_actions(spec, shape, seed=0):
    random = np.random.default_rng(seed)
    if isinstance(spec.actions, Box):
        size = (*shape, spec.actions.action_size)
        return random.uniform(spec.actions.low, spec.actions.high, size).astype(np.float32)
    return random.integers(spec.actions.n, size=shape)


def trajectory(spec, num_envs, steps, actions):
    """All observations [T, N, D] and rewards, terminated and truncated [T, 3, N]."""
    stepped = Stepped(spec, num_envs)
    seen = []
    for t in range(steps):
        out = stepped.step(actions[t, :num_envs])
        seen.append((out.obs.copy(), np.array([out.reward, out.terminated, out.truncated])))
    obs, rest = zip(*seen, strict=True)
    return np.array(obs), np.array(rest)


@slow
@pytest.mark.parametrize("name", ["cart_pole", *BEYOND])
def test_many_at_once_and_one_by_one_are_the_same(name):
    spec = load_spec(name)
    actions = random_actions(spec, (600, 37))
    many, single = Stepped(spec, 37), Stepped(spec, 37)
    step_range = one_by_one(spec)
    for envs in (many.envs, single.envs):
        envs.state.elapsed[::2] = (
            spec.max_episode_steps - 300
        )  # so that some are cut, and begin anew
    for t in range(600):
        out, envs = many.step(actions[t]), single.envs
        step_range(0, 37, envs.state, envs.totals, envs.source, actions[t], single.out)
        for ours, theirs in zip(out[:5], single.out[:5], strict=True):
            np.testing.assert_allclose(ours, theirs, atol=2e-5)
        assert (many.envs.state.episode == envs.state.episode).all()
        assert (many.envs.state.elapsed == envs.state.elapsed).all()
        # From the same state each time: rounding, which may differ, must not add up.
        envs.load_state_dict(many.envs.state_dict())
    assert many.envs.take_episode_totals()[0] >= 19


@pytest.mark.parametrize("name", ["cart_pole", *(pytest.param(x, marks=slow) for x in BEYOND)])
def test_an_environment_does_not_depend_on_the_number_of_threads(name):
    spec = load_spec(name)
    num_envs = 3 * BLOCK + 5
    actions = random_actions(spec, (30, num_envs))
    seen = []
    for num_threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(num_threads)
        seen.append(trajectory(spec, num_envs, 30, actions))
    for a, b in zip(*seen, strict=True):
        assert (a == b).all()


@pytest.mark.parametrize(
    "name", ["cart_pole", *(pytest.param(x, marks=slow) for x in BEYOND if x in ENV_NAMES)]
)
def test_seeds_streams_environments_and_episodes_all_begin_differently(name):
    spec = load_spec(name)
    begins = [
        Stepped(spec, 2, seed=1).obs,
        Stepped(spec, 2, seed=2).obs,
        Stepped(spec, 2, seed=1, stream=EVALUATION).obs,
    ]
    stepped = Stepped(spec, 2)
    stepped.envs.state.elapsed[:] = spec.max_episode_steps - 1
    begins.append(stepped.step(random_actions(spec, (2,))).obs)
    rows = np.concatenate(begins)
    assert len(np.unique(rows, axis=0)) == len(rows)


@pytest.mark.parametrize("name", ["cart_pole", *(pytest.param(x, marks=slow) for x in BEYOND)])
def test_a_saved_state_goes_on_exactly(name):
    spec = load_spec(name)
    actions = random_actions(spec, (200, 8))
    first, second = Stepped(spec, 8), Stepped(spec, 8, seed=1)
    for t in range(100):
        first.step(actions[t])
    second.envs.load_state_dict(first.envs.state_dict())
    for t in range(100, 200):
        expected, found = first.step(actions[t]), second.step(actions[t])
        for a, b in zip(expected[:4], found[:4], strict=True):
            assert (a == b).all()
