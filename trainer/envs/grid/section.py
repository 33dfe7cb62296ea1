"""The settings of grid worlds, operant's own and MettaGrid's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ....shared.errors import ConfigError
from ...settings.facts import Facts
from ...settings.section import EnvSection
from .maps import Map, read_map

MOST_AGENTS, MOST_SIDE = 64, 128
COUNTS = ("num_walls", "num_mines", "num_generators", "num_altars", "num_agents")


class ArenaSection(EnvSection):
    """Agents that mine ore, make batteries of it, and hearts of those."""

    name: ClassVar[str]  # of the table
    agents_retire: ClassVar[bool] = False

    num_agents: int = Field(
        4, ge=1, le=MOST_AGENTS, description=f"agents of each environment; 1 to {MOST_AGENTS}"
    )
    height: int = Field(
        32,
        ge=4,
        le=MOST_SIDE,
        description=f"cells from north to south, walls around included; 4 to {MOST_SIDE}",
    )
    width: int = Field(32, ge=4, le=MOST_SIDE, description="cells from west to east; 4 to 128")
    num_walls: int = Field(60, ge=0, description="wall cells inside, placed again in each episode")
    num_mines: int = Field(10, ge=1, description="mines; each use gives an ore")
    num_generators: int = Field(8, ge=1, description="each use makes a battery from an ore")
    num_altars: int = Field(6, ge=1, description="each use makes a heart from a battery")
    map: str = Field(
        "",
        description="map file for all episodes, with # walls, m mines, g generators, a "
        "altars, @ agents and . free cells; empty: a random map for each episode",
    )
    max_steps: int = Field(1000, ge=1, le=100_000, description="ticks of an episode; 1 to 100,000")
    cooldown: int = Field(
        5, ge=0, le=255, description="ticks that a station pauses after each use; 0: no pause"
    )
    ore_limit: int = Field(10, ge=1, le=255, description="most ore an agent holds; 1 to 255")
    battery_limit: int = Field(
        10, ge=1, le=255, description="most batteries an agent holds; 1 to 255"
    )
    ore_reward: float = Field(
        0.0,
        ge=0,
        le=100,
        description="reward for each ore gained, taken back when it is spent; a heart gives 1",
    )
    battery_reward: float = Field(0.0, ge=0, le=100, description="the same for each battery")
    ore_reward_cap: float = Field(
        1.0, ge=0, le=1000, description="limit of the reward for ore held at once"
    )
    battery_reward_cap: float = Field(1.0, ge=0, le=1000, description="the same for batteries")
    num_tokens: int = Field(
        64,
        ge=16,
        le=500,
        description="tokens of an observation, 16 to 500; if there are more, grid leaves out the "
        "farthest and mettagrid ends the run",
    )
    embedding_size: int = Field(
        128, ge=1, le=4096, description="size of the policy's embedding of the tokens; 1 to 4096"
    )

    def check(self, facts: Facts) -> None:
        if facts.normalizes_obs:
            raise ValueError(
                f"normalization.obs = true: {facts.env} has token observations; use false"
            )
        if facts.algorithm_table != "ppo":
            raise ValueError(
                f"algorithm = {facts.algorithm}: {facts.env} has token observations; use ppo"
            )
        for refusal in self.refusals():
            raise ValueError(refusal)

    def refusals(self) -> Iterator[str]:
        """Why this is no world."""
        yield from self._of_map() if self.map else self._of_counts()
        for name in ("ore", "battery"):
            cap: float = getattr(self, f"{name}_reward_cap")
            if not getattr(self, f"{name}_reward") and cap != 1:
                yield (
                    f"{self.name}.{name}_reward_cap = {cap}: {self.name}.{name}_reward = 0, so "
                    "there is nothing to cap"
                )

    def set_in_vain(self, keys: Iterable[str], why: str) -> Iterator[str]:
        """Those that are not as they are by default, with what takes all of them back."""
        defaults = {key: type(self).model_fields[key].default for key in keys}
        changed = [key for key, default in defaults.items() if getattr(self, key) != default]
        if changed:
            back = ", ".join(f"{self.name}.{key} = {defaults[key]}" for key in changed)
            value = getattr(self, changed[0])
            yield f"{self.name}.{changed[0]} = {value}: {why}; {back} takes it back"

    def _of_counts(self) -> Iterator[str]:
        """More than there are cells."""
        cells = (self.height - 2) * (self.width - 2)
        counts: dict[str, int] = {key: getattr(self, key) for key in COUNTS}
        others = sum(counts.values()) - self.num_agents
        if self.num_agents > cells - others:
            yield (
                f"{self.name}.num_agents = {self.num_agents}: {self.height} x {self.width} cells "
                f"with {others} walls and stations leave {max(0, cells - others)} free"
            )

    def _of_map(self) -> Iterator[str]:
        of_map = ("height", "width", *COUNTS[:-1])
        yield from self.set_in_vain(of_map, f"{self.name}.map = {self.map} says it")
        try:
            found = self.read_map()
        except ConfigError as error:
            yield f"{self.name}.map = {error}"
            return
        if found and found.num_agents != self.num_agents:
            yield (
                f"{self.name}.num_agents = {self.num_agents}: {self.map} has {found.num_agents} "
                "agents (@)"
            )

    def read_map(self) -> Map | None:
        """The map that all episodes have. Raises ConfigError."""
        return read_map(Path(self.map)) if self.map else None


class GridConfig(ArenaSection):
    """Operant's own grid world."""

    name: ClassVar[str] = "grid"

    num_maps: int = Field(
        0,
        ge=0,
        le=2**24,
        description="number of maps, generated from the seed, that episodes "
        "choose from; 0: a new map for each episode",
    )

    def refusals(self) -> Iterator[str]:
        yield from super().refusals()
        if self.map and self.num_maps:
            yield f"grid.num_maps = {self.num_maps}: all episodes are in grid.map = {self.map}"
