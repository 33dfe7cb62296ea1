"""The kinds of cells of a grid world, and the numbers of features and tags in observations.

The numbers are those of MettaGrid 0.26 for such a world: features in the order in which it lists
them, tags in alphabetical order.
"""

from __future__ import annotations

# What a cell holds.
EMPTY, WALL, MINE, GENERATOR, ALTAR, AGENT, OUTSIDE = range(7)
NAMES = {WALL: "wall", MINE: "mine", GENERATOR: "generator", ALTAR: "altar", AGENT: "agent"}
SYMBOLS = {".": EMPTY, " ": EMPTY, "#": WALL, "m": MINE, "g": GENERATOR, "a": ALTAR, "@": AGENT}
RESOURCES = ("ore", "battery", "heart", "cooldown")  # the last one is of stations
STATIONS = {MINE: (None, "ore"), GENERATOR: ("ore", "battery"), ALTAR: ("battery", "heart")}
HEART_LIMIT = 255

ACTIONS = ("noop", "move_north", "move_south", "move_west", "move_east")
NUM_ACTIONS = len(ACTIONS)

WINDOW = 11  # cells across
REACH = WINDOW // 2
TOKEN_SIZE = 3

# Features of tokens.
GROUP, COMPLETION, LAST_ACTION, LAST_REWARD, GOAL, VIBE, TAG = range(7)
AGENT_ID, ORE_HELD, BATTERY_HELD, HEARTS_HELD, COOLDOWN_LEFT = 11, 12, 14, 16, 18
TAGS = tuple(sorted(f"type:{name}" for name in NAMES.values()))


def tag_of(kind: int) -> int:
    return TAGS.index(f"type:{NAMES[kind]}")
