"""TinyPhysics: a learned car model along logged routes, thousands of episodes in lockstep.

The simulator of the public comma.ai controls challenge (version 2), reproduced exactly: the same
random draws, the same rounding, the same costs. `simulator.py` is the episode, `engines/` the ways
to run its model.
"""

from __future__ import annotations

from ...spaces import Box
from ..spec import HostedSpec

OBS_SIZE = 256
# An action changes the steering: -1 to 1 is the most in one step.
SPEC = HostedSpec(
    "tinyphysics", OBS_SIZE, Box((-1.0,), (1.0,)), host="tinyphysics", stepped_by="routes"
)
