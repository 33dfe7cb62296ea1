"""What the grid world's functions leave open: bound for each `World` by `world.py`.

`state` [state_size, N] float32 has a column for each world; `random` is (number of the environment,
of its episode, seed, stream).
"""

from __future__ import annotations

from ...jit.templates import declared, unbound

num_agents: int = unbound("agents of a world")
num_tokens: int = unbound("tokens of an observation")
height: int = unbound("cells from north to south")
width: int = unbound("cells from west to east")
stride: int = unbound("cells from one row to the next, those around the map included")
max_ticks: int = unbound("ticks of an episode")
steps_of_actions = unbound("how far each action goes in the list of cells, [5] int32")
window_steps = unbound("how far each cell of the window is in that list, nearest first, int32")
window_cells = unbound("and the cell's name in tokens, uint8")

# Rows of `state` in which the lists begin.
first_agent: int = unbound("of the agents")
first_cell: int = unbound("of the cells")
first_told: int = unbound("of the kinds that a map tells, where there is one")


@declared
def lay_out(state, env, random):
    """Put everything in its place: kinds in the cells, and where agents are."""
