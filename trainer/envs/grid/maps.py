"""Maps of grid worlds: from text, and drawn."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import ConfigError
from ....shared.runs.small_file import read_small
from .kinds import AGENT, EMPTY, NAMES, STATIONS, SYMBOLS, WALL

MOST_BYTES = 2**16
MOST_SIDE = 128
Counts = tuple[int, int, int, int, int]  # of walls, mines, generators, altars and agents


class Map(NamedTuple):
    """The cells of a map, as lines of text."""

    rows: tuple[str, ...]

    @property
    def kinds(self) -> NDArray[np.int8]:
        """The kinds of the cells [height, width]; agents are numbered row by row."""
        return np.array([[SYMBOLS[symbol] for symbol in row] for row in self.rows], np.int8)

    @property
    def num_agents(self) -> int:
        return sum(row.count("@") for row in self.rows)


def read_map(path: Path) -> Map:
    """The map in a file. Raises ConfigError, which names the file, the line and the fault."""
    try:
        text = read_small(path, MOST_BYTES).decode()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not a text file") from None
    return parsed(text, str(path))


@lru_cache(maxsize=256)
def parsed(text: str, name: str = "the map") -> Map:
    """A map from its text. Raises ConfigError."""
    rows = tuple(text.strip("\n").splitlines())
    for number, row in enumerate(rows, 1):
        unknown = set(row) - set(SYMBOLS)
        if unknown:
            allowed = " ".join(symbol for symbol in SYMBOLS if symbol != " ")
            wrong = sorted(unknown)[0]
            raise ConfigError(f"{name}, line {number}: expected one of {allowed}, got {wrong!r}")
        if len(row) != len(rows[0]):
            raise ConfigError(
                f"{name}, line {number}: {len(row)} cells, and line 1 has {len(rows[0])}"
            )
    if not rows or max(len(rows), len(rows[0])) > MOST_SIDE:
        raise ConfigError(f"{name}: 1 to {MOST_SIDE} lines of 1 to {MOST_SIDE} cells are a map")
    found = Map(rows)
    kinds = found.kinds
    missing = [NAMES[kind] for kind in (*STATIONS, AGENT) if kind not in kinds]
    if missing:
        raise ConfigError(f"{name}: it has no {' and no '.join(missing)}")
    return found


def drawn(height: int, width: int, counts: Counts, random: np.random.Generator) -> NDArray[np.int8]:
    """Kinds [height, width] of a random map: walls around it, and `counts` things within."""
    kinds = np.full((height, width), WALL, np.int8)
    inner = np.full((height - 2) * (width - 2), EMPTY, np.int8)
    things = np.repeat(np.array([WALL, *STATIONS, AGENT], np.int8), counts)
    inner[: len(things)] = things
    random.shuffle(inner)
    kinds[1:-1, 1:-1] = inner.reshape(height - 2, width - 2)
    return kinds
