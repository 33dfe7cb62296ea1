"""CartPole of which only the positions are seen: how fast both move is to be remembered.

Everything else is that of `cart_pole`. As in section 4.3 of Wierstra et al. 2007,
doi:10.1007/978-3-540-74690-4_71, and many since.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..spaces import symmetric_box
from . import cart_pole
from .cart_pole import ANGLE_RAD, POSITION_M


def observe(state, env, obs):
    """Where the cart is, and how far the pole leans."""
    obs[env, 0] = state[POSITION_M, env]
    obs[env, 1] = state[ANGLE_RAD, env]


SPEC = replace(
    cart_pole.SPEC,
    name="CartPoleNoVelocity",
    obs_size=2,
    observations=symmetric_box(4.8, math.radians(24)),
    observe=observe,
)
