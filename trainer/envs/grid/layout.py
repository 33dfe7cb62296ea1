"""What the rows of `state` are: numbers of the world, a block for each agent, then cells.

A cell is a whole number: its kind, and above that 8 times what there is to know of it: of an agent
its number, of a station the first tick in which it can be used again. Around the map lie `REACH`
cells that are `OUTSIDE`, so that no window ends.
"""

from __future__ import annotations

from .bindings import first_agent

# Of the world; all but the first are settings, written once.
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

# Of an agent.
(
    CELL,  # its place in the list of cells
    ORE,
    BATTERIES,
    HEARTS,
    LAST_ACTION,  # that came to something, else 0
    WANTED,  # the cell that it wants in this tick, to move to or to use; 0 for none
    WORTH,  # of all that it holds
    AGENT_SIZE,
) = range(8)

KINDS, ABOVE = 8, 3  # a cell is kind + 8 x the rest; the rest is the cell >> 3


def agent_row(agent):
    return first_agent + agent * AGENT_SIZE
