"""The numbers of MarineNav that several files use, in SI units.

Source: Lin et al. 2024, arXiv:2412.09466, and its public simulator; the vessel is a WAM-V 16. The
other files define the numbers that they alone use.

Compiled code has all real numbers in the precision of its world: `world.py` binds every float that
is a global of these files to the same number as float32 or float64. Compiled functions therefore
name their numbers, ONE and HALF too: a bare 0.5 would make everything it touches float64.
"""

from __future__ import annotations

import math

ZERO, HALF, ONE = 0.0, 0.5, 1.0
PI, TURN = math.pi, 2 * math.pi

MAP_M = 55.0
CORE_RADIUS_M = 0.5  # of a vortex, a Rankine vortex
RANGE_M = 20.0  # how far a robot sees
SEEN_OBJECTS = 5
MAX_CLOCK = 2.0**24  # the most that float32 counts to
