"""TinyPhysics: a learned car model along logged routes, thousands of episodes in lockstep.

The simulator of the public comma.ai controls challenge (version 2), reproduced exactly: the same
random draws, the same rounding, the same costs. `simulator.py` is the episode, `engines/` the ways
to run its model.
"""
