"""Our physics is Gymnasium's, step by step."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from numba import njit

from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.names import ENV_NAMES
from operant.trainer.spaces import Box

NUM_STEPS = 10_000
TOLERANCE = 1e-5

# Of the environments that Gymnasium has too, states to step from: all that can be reached, and a
# little beyond what ends an episode.
LOW_AND_HIGH = {
    "acrobot": [(-np.pi, np.pi), (-np.pi, np.pi), (-4 * np.pi, 4 * np.pi), (-9 * np.pi, 9 * np.pi)],
    "cart_pole": [(-2.5, 2.5), (-4, 4), (-0.22, 0.22), (-4, 4)],
    "mountain_car": [(-1.2, 0.6), (-0.07, 0.07)],
    "mountain_car_continuous": [(-1.2, 0.6), (-0.07, 0.07)],
    "pendulum": [(-np.pi, np.pi), (-8, 8)],
}
OF_GYMNASIUM = [name for name in ENV_NAMES if load_spec(name).name in gymnasium.registry]
ANGLES = {"acrobot": [0, 1], "pendulum": [0]}  # fields that mean the same a turn later


def distances_to_an_end(name, states):
    """How far each of `states` [B, F] is from where `terminated` changes."""
    if name == "acrobot":
        return np.abs(-np.cos(states[:, 0]) - np.cos(states[:, 0] + states[:, 1]) - 1)
    if name == "cart_pole":
        return np.abs(np.abs(states[:, [0, 2]]) - [2.4, np.radians(12)]).min(1)
    if name.startswith("mountain_car"):
        flag = 0.5 if name == "mountain_car" else 0.45
        return np.abs(states - [flag, 0.0]).min(1)
    return np.full(len(states), np.inf)


def random_actions(spec, random):
    if isinstance(spec.actions, Box):
        # Also beyond the bounds: what is asked for is clipped, or paid for.
        low, high = np.array(spec.actions.low), np.array(spec.actions.high)
        return random.uniform(1.5 * low, 1.5 * high, (NUM_STEPS, len(low))).astype(np.float32)
    return random.integers(spec.actions.n, size=NUM_STEPS)


def gymnasium_steps(spec, states, actions):
    """Gymnasium's next states [B, F], observations, rewards and terminated flags [B]."""
    env = gymnasium.make(spec.name).unwrapped
    env.reset(seed=0)
    steps = []
    for state, action in zip(states, actions, strict=True):
        env.state = np.array(state)
        env.steps_beyond_terminated = None
        obs, reward, terminated, _, _ = env.step(action)
        steps.append((np.array(env.state, np.float64), obs, reward, terminated))
    return [np.array(column) for column in zip(*steps, strict=True)]


def test_every_environment_that_gymnasium_has_is_compared_and_no_other_can_be():
    assert sorted(LOW_AND_HIGH) == sorted(OF_GYMNASIUM)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*calling 'step.*")
@pytest.mark.parametrize("name", OF_GYMNASIUM)
def test_a_step_from_any_state_is_gymnasiums(name):
    spec = load_spec(name)
    random = np.random.default_rng(1)
    low, high = np.array(LOW_AND_HIGH[name]).T
    states = random.uniform(low, high, (NUM_STEPS, len(low))).astype(np.float32)
    actions = random_actions(spec, random)
    step, observe = njit(spec.step), njit(spec.observe)

    ours, obs = states.T.copy(), np.empty((NUM_STEPS, spec.obs_size), np.float32)
    rewards, terminated = np.empty(NUM_STEPS, np.float32), np.empty(NUM_STEPS, bool)
    for env in range(NUM_STEPS):
        rewards[env], terminated[env] = step(ours, env, actions[env])
        observe(ours, env, obs)

    states, their_obs, their_rewards, their_terminated = gymnasium_steps(
        spec, states.astype(np.float64), actions
    )
    differences = ours.T - states
    angles = ANGLES.get(name, [])
    differences[:, angles] = (differences[:, angles] + np.pi) % (2 * np.pi) - np.pi
    assert np.abs(differences).max() < TOLERANCE
    assert np.abs(obs - their_obs).max() < TOLERANCE
    clear = distances_to_an_end(name, states) > TOLERANCE
    assert clear.mean() > 0.9
    assert (terminated == their_terminated)[clear].all()
    assert np.abs(rewards - their_rewards)[clear].max() < TOLERANCE
    if name != "pendulum":  # which never ends by itself
        assert 0.01 < terminated.mean() < 0.99
