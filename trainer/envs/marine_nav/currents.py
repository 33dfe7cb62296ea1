"""The current: Rankine vortices, whose velocities add up."""

from __future__ import annotations

import math

from .bindings import num_vortices, real
from .constants import CORE_RADIUS_M, ONE, TINY_M, TURN, ZERO
from .layout import CIRCULATION, IS_CLOCKWISE, NUM_VORTICES, VORTEX_X, VORTEX_Y, vortex_row


def current_at(state, env, x, y):
    """(vx, vy) in m/s at a point.

    A core turns like a solid body; outside, the speed falls as one over the distance. The direction
    is across that *towards* the core.
    """
    vx, vy = ZERO, ZERO
    for vortex in range(num_vortices):
        if real(vortex) < state[NUM_VORTICES, env]:
            row = vortex_row(vortex)
            dx, dy = state[row + VORTEX_X, env] - x, state[row + VORTEX_Y, env] - y
            distance = math.sqrt(dx * dx + dy * dy)
            speed = vortex_speed(state[row + CIRCULATION, env], distance)
            turned = ONE if state[row + IS_CLOCKWISE, env] > ZERO else -ONE
            share = turned * speed / max(distance, TINY_M)
            vx -= share * dy
            vy += share * dx
    return vx, vy


def vortex_speed(circulation, distance):
    """Speed of the water at a distance from a core."""
    if distance <= CORE_RADIUS_M:
        return circulation * distance / (TURN * CORE_RADIUS_M * CORE_RADIUS_M)
    return circulation / (TURN * distance)
