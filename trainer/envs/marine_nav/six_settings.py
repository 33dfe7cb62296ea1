"""The scenarios that MarineNav is evaluated on: six settings as the authors', from our generator.

Theirs are not public. These are kept in a file, so that all who report figures play the same ones;
`generating.write` makes it.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .scenario import Scenario
from .scenario_files import scenarios_in
from .world import World

FILE = Path(__file__).with_name("six_settings.json.gz")
SETTINGS = ((3, 0, 30.0), (4, 0, 35.0), (5, 0, 40.0), (5, 2, 40.0), (5, 3, 40.0), (5, 4, 40.0))
EPISODES_EACH = 250


def six_settings(world: World) -> list[Scenario]:
    """Those that a world has room for; none where it has vortices, which these have not, or other
    vessels than they were made for.
    """
    if world.vortices or world.vessels != "thrusters":
        return []
    return [
        scenario for scenario in all_scenarios()
        if len(scenario.starts) <= world.robots and len(scenario.obstacles) <= world.obstacles
    ]  # fmt: skip


@cache
def all_scenarios() -> Sequence[Scenario]:
    return scenarios_in(gzip.decompress(FILE.read_bytes()).decode(), str(FILE))
