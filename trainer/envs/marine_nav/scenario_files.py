"""Files of scenarios: JSON, one object with the world's name and a list.

    {"world": "marine_nav", "scenarios": [{"starts": [[x, y], ...], "goals": [[x, y], ...],
      "headings": [angle, ...], "obstacles": [[x, y, radius], ...],
      "vortices": [[x, y, 1 if clockwise else 0, circulation], ...]}, ...]}

Metres, radians, and m2/s of circulation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ....shared.runs.small_file import read_small
from .constants import HULL_RADIUS_M
from .layout import MOST_OBSTACLES, MOST_ROBOTS, MOST_VORTICES
from .scenario import Array, Scenario

WORLD = "marine_nav"
LARGEST = 1e6  # of any number: what float32 holds to a decimetre
WIDTHS = {"starts": 2, "goals": 2, "headings": 0, "obstacles": 3, "vortices": 4}
MOST = {"starts": MOST_ROBOTS, "obstacles": MOST_OBSTACLES, "vortices": MOST_VORTICES}
MOST_BYTES = 2**26  # of a file: some fifty thousand scenarios


def write_scenarios(path: Path, scenarios: Sequence[Scenario]) -> None:
    """Write a file that `read_scenarios` reads."""
    path.write_text(scenarios_text(scenarios))


def scenarios_text(scenarios: Sequence[Scenario]) -> str:
    """What a file of scenarios has in it."""
    lists = [{key: getattr(s, key).tolist() for key in WIDTHS} for s in scenarios]
    return json.dumps({"world": WORLD, "scenarios": lists})


def read_scenarios(path: Path) -> list[Scenario]:
    """All scenarios of a file. Raises ConfigError: one line that says what is wrong, and where."""
    try:
        text = read_small(path, MOST_BYTES).decode()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not a file of scenarios: {error}") from None
    return scenarios_in(text, str(path))


def scenarios_in(text: str, path: str) -> list[Scenario]:
    """All scenarios of a file's text. Raises ConfigError, which names the `path`."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"{path} is not a file of scenarios: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path} is not a file of scenarios: it nests too deeply") from None
    world = content.get("world") if isinstance(content, dict) else None
    if world != WORLD:
        shown = repr(world)[:60]
        raise ConfigError(f"{path}: scenarios of world = {shown}, and these are for {WORLD!r}")
    scenarios = content.get("scenarios")
    if not isinstance(scenarios, list) or not scenarios:
        raise ConfigError(f"{path}: 'scenarios' must be a list of at least one")
    return [checked(scenario_of(s, f"{path}, scenario {i}"), f"{path}, scenario {i}")
            for i, s in enumerate(scenarios)]  # fmt: skip


def scenario_of(lists: Any, where: str) -> Scenario:
    """The lists of a file as arrays. Raises ConfigError."""
    if not isinstance(lists, dict):
        raise ConfigError(f"{where}: must be an object with {', '.join(WIDTHS)}")
    missing = [key for key in WIDTHS if key not in lists]
    if missing:
        raise ConfigError(f"{where}: missing {', '.join(missing)}")
    unknown = [key for key in lists if key not in WIDTHS]
    if unknown:
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; there are {', '.join(WIDTHS)}")
    rows = {key: rows_of(lists[key], key, width, where) for key, width in WIDTHS.items()}
    return Scenario(**rows)


def rows_of(value: Any, key: str, width: int, where: str) -> Array:
    """Rows of `width` finite numbers, or as many numbers as there are where it is 0."""
    shape = (-1, width) if width else (-1,)
    try:
        check_numbers(value, 2 if width else 1)
        rows = np.array(value, np.float64)
        good = rows.shape[1:] == shape[1:] or not rows.size
        rows = rows.reshape(shape)
    except (OverflowError, TypeError, ValueError):  # of an integer that no float64 is near to
        good, rows = False, np.zeros(0)
    if not good or not (np.abs(rows) <= LARGEST).all():
        what = f"rows of {width} numbers" if width else "numbers"
        raise ConfigError(f"{where}: {key} are to be {what}, none beyond {LARGEST:g}")
    return rows


def check_numbers(value: Any, depth: int) -> None:
    """Raises TypeError for what NumPy would take for a number: "5", true and null."""
    if depth and isinstance(value, list):
        for part in value:
            check_numbers(part, depth - 1)
    elif type(value) not in (int, float):
        raise TypeError(value)


def checked(scenario: Scenario, where: str) -> Scenario:
    """The scenario itself. Raises ConfigError where it cannot be."""
    for key, most in MOST.items():
        if (count := len(getattr(scenario, key))) > most:
            raise ConfigError(f"{where}: has {count} {key}, and no world has room for over {most}")
    num_robots = len(scenario.starts)
    if not num_robots:
        raise ConfigError(f"{where}: has no robots")
    for key in ("goals", "headings"):
        if len(getattr(scenario, key)) != num_robots:
            count = len(getattr(scenario, key))
            raise ConfigError(f"{where}: has {num_robots} starts and {count} {key}")
    if (scenario.obstacles[:, 2] <= 0).any():
        raise ConfigError(f"{where}: radii of obstacles are above 0")
    discs = [("obstacle", i, *obstacle) for i, obstacle in enumerate(scenario.obstacles)]
    discs += [("robot", i, *start, HULL_RADIUS_M) for i, start in enumerate(scenario.starts)]
    for one, two in combinations(discs, 2):
        (kind, i, x, y, radius), (other, j, other_x, other_y, other_radius) = one, two
        gap = float(np.hypot(x - other_x, y - other_y))
        if gap <= radius + other_radius:
            raise ConfigError(
                f"{where}: {kind} {i} and {other} {j} overlap: {gap:.2f} m apart, and their radii "
                f"are {radius:.2f} m and {other_radius:.2f} m"
            )
    return scenario
