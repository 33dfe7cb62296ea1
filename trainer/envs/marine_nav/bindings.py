"""The names that MarineNav's functions leave open; `world.py` binds them for each `World`.

`state` [state_size, N] is float32 or float64, a column for each world; `random` is (number of the
environment, of its episode, seed, stream).
"""

from __future__ import annotations

from ...jit.templates import declared, unbound

real = unbound("float32 or float64")
num_robots: int = unbound("robots that there is room for")
num_obstacles: int = unbound("obstacles that there is room for")
num_vortices: int = unbound("vortices that there is room for")
obs_scale = unbound("what each number of an observation is multiplied by, [obs_size]")
max_noise_m = unbound("an upper bound of the noise of a position")

# Rows of `state` in which the lists begin.
first_robot: int = unbound("of the robots")
first_obstacle: int = unbound("of the obstacles")
first_vortex: int = unbound("of the vortices")
first_stage: int = unbound("of the curriculum's stages")
first_noise: int = unbound("of the noise, where the state has it")


@declared
def thrust_rates(actions, row):
    """The changes of thrust that an action asks for, left and right, in N/s."""


@declared
def perception_noise(state, env, robot, candidate, random):
    """The errors of a robot's observation of one object: m, m, m/s, m/s along the axes of the
    world, and the factor of its radius.
    """
