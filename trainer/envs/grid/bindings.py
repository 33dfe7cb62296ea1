"""The names that the grid world's functions leave open; `world.py` binds them for each `World`.

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
window_cells = unbound("each cell of the window as tokens name it, row << 4 | column, uint8")

# Rows of `state` in which the lists begin.
first_agent: int = unbound("of the agents")
first_cell: int = unbound("of the cells")
first_map_cell: int = unbound("of the cells of a map from a file, where there is one")


@declared
def lay_out(state, env, random):
    """Fill the cells, and write where agents are."""
