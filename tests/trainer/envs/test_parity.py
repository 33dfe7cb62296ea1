"""Our physics is Gymnasium's, step by step."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from numba import njit

from operant.trainer.envs import load_spec

NUM_STEPS = 10_000
TOLERANCE = 1e-5


def cart_pole_states(random):
    """States over the whole of the track, and a little beyond its ends."""
    high = np.array([2.5, 4.0, 0.22, 4.0])
    return random.uniform(-high, high, (NUM_STEPS, 4))


STATES = {"cart_pole": cart_pole_states}


def gymnasium_steps(spec, states, actions):
    """Gymnasium's next states [B, F] and terminated flags [B], each step from a state of ours."""
    env = gymnasium.make(spec.name).unwrapped
    env.reset(seed=0)
    next_states, terminated = np.empty_like(states), np.empty(len(states), bool)
    for i, (state, action) in enumerate(zip(states, actions, strict=True)):
        env.state = tuple(state)
        env.steps_beyond_terminated = None
        _, _, terminated[i], _, _ = env.step(action)
        next_states[i] = env.state
    return next_states, terminated


@pytest.mark.filterwarnings("ignore:.*calling 'step.*")
@pytest.mark.parametrize("name", STATES)
def test_a_step_from_any_state_is_gymnasiums(name):
    spec = load_spec(name)
    random = np.random.default_rng(1)
    states = STATES[name](random).astype(np.float32)
    actions = random.integers(spec.actions.n, size=NUM_STEPS)
    step = njit(spec.step)

    ours, terminated = states.T.copy(), np.empty(NUM_STEPS, bool)
    for env in range(NUM_STEPS):
        _, terminated[env] = step(ours, env, actions[env])

    theirs, their_terminated = gymnasium_steps(spec, states.astype(np.float64), actions)
    assert np.abs(ours.T - theirs).max() < TOLERANCE
    thresholds = np.array([2.4, np.inf, np.radians(12), np.inf])
    near = (np.abs(np.abs(theirs) - thresholds) < TOLERANCE).any(1)
    assert (terminated == their_terminated)[~near].all()
    assert 0.1 < terminated.mean() < 0.9
