"""MarineNav: vessels with two thrusters find their way among obstacles, each other and currents.

The world of Lin et al. 2024 (arXiv:2412.09466) with all numbers of its public simulator, thousands
at a time: `environment.py` is the episode, `world.py` puts its functions together for one kind of
world. A robot is an agent of its world.
"""
