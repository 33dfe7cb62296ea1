"""The rows of `state`: numbers of the world, a block for each agent, then the cells.

A cell is an integer: its kind plus 8 times a number, that of the agent, or the first tick in which
the station can be used again. A border of `REACH` cells around the map is `OUTSIDE`, so that every
window lies within the list.
"""

from __future__ import annotations

from .bindings import first_agent

# The world; all rows but the first are settings, written once.
(
    TICK,
    NUM_WALLS,
    NUM_MINES,
    NUM_GENERATORS,
    NUM_ALTARS,
    NUM_MAPS,
    COOLDOWN,
    ORE_LIMIT,
    BATTERY_LIMIT,
    ORE_REWARD,
    BATTERY_REWARD,
    ORE_REWARD_CAP,
    BATTERY_REWARD_CAP,
    WORLD_SIZE,
) = range(14)

# An agent.
(
    CELL,  # its place in the list of cells
    ORE,
    BATTERIES,
    HEARTS,
    LAST_ACTION,  # 0 where it had no effect
    WANTED,  # the cell that it wants in this tick, to move to or to use; 0 for none
    WORTH,  # the reward of its holdings
    AGENT_SIZE,
) = range(8)

KINDS, ABOVE = 8, 3  # a cell is kind + 8 x the rest; the rest is the cell >> 3


def agent_row(agent):
    return first_agent + agent * AGENT_SIZE
