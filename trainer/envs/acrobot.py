"""Two links hang from a hinge; a motor between them swings the tip up above a line.

Source: Sutton 1996; equations ("book") and constants as in Gymnasium's Acrobot-v1. Fast links turn
by more than a turn within a step, which magnifies rounding a thousand times: a step is computed in
float64 between states of float32.
"""

from __future__ import annotations

import math

from numba import njit
from numpy import float32, float64

from ..jit.streams import uniform
from ..spaces import Discrete, symmetric_box
from .spec import EnvSpec
from .trigonometry import precise_sine_and_cosine, sine_and_cosine, wrapped

GRAVITY_M_PER_S2 = 9.8
LINK_M = 1.0
LINK_MASS_KG = 1.0
CENTER_M = 0.5  # from a link's hinge to its centre of mass
LINK_INERTIA_KG_M2 = 1.0
TORQUE_N_M = 1.0
STEP_S = 0.2
HALF_STEP_S = STEP_S / 2
MAX_VELOCITY_1_RAD_PER_S = 4 * math.pi
MAX_VELOCITY_2_RAD_PER_S = 9 * math.pi
RESET_RANGE = float32(0.1)
ZERO, ONE = float32(0.0), float32(1.0)

ANGLE_1_RAD, ANGLE_2_RAD, VELOCITY_1_RAD_PER_S, VELOCITY_2_RAD_PER_S = range(4)


def reset(state, env, random):
    """Start hanging down, near rest."""
    state[ANGLE_1_RAD, env] = uniform(random, 0, -RESET_RANGE, RESET_RANGE)
    state[ANGLE_2_RAD, env] = uniform(random, 1, -RESET_RANGE, RESET_RANGE)
    state[VELOCITY_1_RAD_PER_S, env] = uniform(random, 2, -RESET_RANGE, RESET_RANGE)
    state[VELOCITY_2_RAD_PER_S, env] = uniform(random, 3, -RESET_RANGE, RESET_RANGE)


@njit(inline="always")
def accelerations(angle_1, angle_2, velocity_1, velocity_2, torque_n_m):
    """Angular accelerations of both links, in rad/s2."""
    sine_1, _ = precise_sine_and_cosine(angle_1)
    sine_2, cosine_2 = precise_sine_and_cosine(angle_2)
    sine_12, _ = precise_sine_and_cosine(angle_1 + angle_2)
    coupling = LINK_MASS_KG * LINK_M * CENTER_M
    own = LINK_MASS_KG * CENTER_M * CENTER_M + LINK_INERTIA_KG_M2
    d_2 = own + coupling * cosine_2
    d_1 = own + d_2 + LINK_MASS_KG * LINK_M * LINK_M + coupling * cosine_2
    phi_2 = LINK_MASS_KG * CENTER_M * GRAVITY_M_PER_S2 * sine_12
    phi_1 = (
        phi_2
        - coupling * velocity_2 * (velocity_2 + 2.0 * velocity_1) * sine_2
        + LINK_MASS_KG * (CENTER_M + LINK_M) * GRAVITY_M_PER_S2 * sine_1
    )
    ratio = d_2 / d_1
    acceleration_2 = (
        torque_n_m + ratio * phi_1 - coupling * velocity_1 * velocity_1 * sine_2 - phi_2
    ) / (own - ratio * d_2)
    return -(d_2 * acceleration_2 + phi_1) / d_1, acceleration_2


def step(state, env, action):
    """One fourth-order Runge-Kutta step. Returns (reward, terminated)."""
    angle_1, angle_2 = float64(state[ANGLE_1_RAD, env]), float64(state[ANGLE_2_RAD, env])
    va_1, va_2 = (
        float64(state[VELOCITY_1_RAD_PER_S, env]),
        float64(state[VELOCITY_2_RAD_PER_S, env]),
    )
    torque = TORQUE_N_M * (action - 1)

    a_1, a_2 = accelerations(angle_1, angle_2, va_1, va_2, torque)
    vb_1, vb_2 = va_1 + HALF_STEP_S * a_1, va_2 + HALF_STEP_S * a_2
    b_1, b_2 = accelerations(
        angle_1 + HALF_STEP_S * va_1, angle_2 + HALF_STEP_S * va_2, vb_1, vb_2, torque
    )
    vc_1, vc_2 = va_1 + HALF_STEP_S * b_1, va_2 + HALF_STEP_S * b_2
    c_1, c_2 = accelerations(
        angle_1 + HALF_STEP_S * vb_1, angle_2 + HALF_STEP_S * vb_2, vc_1, vc_2, torque
    )
    vd_1, vd_2 = va_1 + STEP_S * c_1, va_2 + STEP_S * c_2
    d_1, d_2 = accelerations(angle_1 + STEP_S * vc_1, angle_2 + STEP_S * vc_2, vd_1, vd_2, torque)
    angle_1 += STEP_S / 6.0 * (va_1 + 2.0 * vb_1 + 2.0 * vc_1 + vd_1)
    angle_2 += STEP_S / 6.0 * (va_2 + 2.0 * vb_2 + 2.0 * vc_2 + vd_2)
    velocity_1 = va_1 + STEP_S / 6.0 * (a_1 + 2.0 * b_1 + 2.0 * c_1 + d_1)
    velocity_2 = va_2 + STEP_S / 6.0 * (a_2 + 2.0 * b_2 + 2.0 * c_2 + d_2)

    state[ANGLE_1_RAD, env] = wrapped(float32(angle_1))
    state[ANGLE_2_RAD, env] = wrapped(float32(angle_2))
    state[VELOCITY_1_RAD_PER_S, env] = min(
        max(velocity_1, -MAX_VELOCITY_1_RAD_PER_S), MAX_VELOCITY_1_RAD_PER_S
    )
    state[VELOCITY_2_RAD_PER_S, env] = min(
        max(velocity_2, -MAX_VELOCITY_2_RAD_PER_S), MAX_VELOCITY_2_RAD_PER_S
    )
    _, cosine_1 = precise_sine_and_cosine(angle_1)
    _, cosine_12 = precise_sine_and_cosine(angle_1 + angle_2)
    terminated = -cosine_1 - cosine_12 > 1.0
    return ZERO if terminated else -ONE, terminated


def observe(state, env, obs):
    """Cosine and sine of the angles, and the velocities."""
    sine_1, cosine_1 = sine_and_cosine(state[ANGLE_1_RAD, env])
    sine_2, cosine_2 = sine_and_cosine(state[ANGLE_2_RAD, env])
    obs[env, 0], obs[env, 1] = cosine_1, sine_1
    obs[env, 2], obs[env, 3] = cosine_2, sine_2
    obs[env, 4] = state[VELOCITY_1_RAD_PER_S, env]
    obs[env, 5] = state[VELOCITY_2_RAD_PER_S, env]


SPEC = EnvSpec(
    name="Acrobot-v1",
    state_size=4,
    obs_size=6,
    actions=Discrete(3),
    max_episode_steps=500,
    reset=reset,
    step=step,
    observe=observe,
    observations=symmetric_box(1.0, 1.0, 1.0, 1.0, 4 * math.pi, 9 * math.pi),
)
