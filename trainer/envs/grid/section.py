"""What runs on grid worlds can be told, operant's own and MettaGrid's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from ....shared.errors import ConfigError
from ...config.section import EnvSection
from .maps import Map, read_map

if TYPE_CHECKING:
    from ...config import TrainConfig

MOST_AGENTS, MOST_SIDE = 64, 128
COUNTS = ("num_walls", "num_mines", "num_generators", "num_altars", "num_agents")


class ArenaSection(EnvSection):
    """Agents that mine ore, make batteries of it, and hearts of those."""

    name: ClassVar[str]  # of the table
    shows_tokens: ClassVar[bool] = True
    agents_retire: ClassVar[bool] = False

    num_agents: int = Field(
        4, ge=1, le=MOST_AGENTS, description=f"agents of each environment; 1 to {MOST_AGENTS}"
    )
    height: int = Field(
        32, ge=4, le=MOST_SIDE, description=f"cells from north to south, walls around included; "
        f"4 to {MOST_SIDE}",
    )  # fmt: skip
    width: int = Field(32, ge=4, le=MOST_SIDE, description="cells from west to east, likewise")
    num_walls: int = Field(60, ge=0, description="cells of wall within, anywhere in each episode")
    num_mines: int = Field(10, ge=1, description="that give an ore each time")
    num_generators: int = Field(8, ge=1, description="that make a battery of an ore")
    num_altars: int = Field(6, ge=1, description="that make a heart of a battery")
    map: str = Field(
        "", description="a text file of # walls, m mines, g generators, a altars, @ agents and . "
        "for nothing: all episodes are there; empty: each has a map of its own",
    )  # fmt: skip
    max_steps: int = Field(1000, ge=1, le=100_000, description="ticks of an episode; 1 to 100,000")
    cooldown: int = Field(
        5, ge=0, le=255, description="ticks from one use of a station to the next; 0: at any time"
    )
    ore_limit: int = Field(10, ge=1, le=255, description="ore that an agent can hold; 1 to 255")
    battery_limit: int = Field(10, ge=1, le=255, description="batteries likewise")
    ore_reward: float = Field(
        0.0, ge=0, le=100, description="for each ore that is held, and lost again with it; a heart "
        "is worth 1",
    )  # fmt: skip
    battery_reward: float = Field(0.0, ge=0, le=100, description="for each battery, likewise")
    ore_reward_cap: float = Field(
        1.0, ge=0, le=1000, description="the most that all ore held together is worth"
    )
    battery_reward_cap: float = Field(1.0, ge=0, le=1000, description="likewise of batteries")
    num_tokens: int = Field(
        64, ge=16, le=500,
        description="tokens of an observation: of more the farthest are left out; 16 to 500",
    )  # fmt: skip
    embedding_size: int = Field(
        128, ge=1, le=4096, description="features that policies make of the tokens; 1 to 4096"
    )

    def check(self, config: TrainConfig) -> None:
        if config.normalization.obs:
            raise ValueError(
                f"normalization.obs = true: {config.env} shows tokens, which are no numbers"
            )
        if config.algorithm != "ppo":
            raise ValueError(
                f"algorithm = {config.algorithm}: {config.env} shows tokens, which only ppo reads"
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
        told = [key for key, default in defaults.items() if getattr(self, key) != default]
        if told:
            back = " ".join(f"--set {self.name}.{key}={defaults[key]}" for key in told)
            yield f"{self.name}.{told[0]} = {getattr(self, told[0])}: {why}; {back} takes it back"

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
        0, ge=0, le=2**24, description="maps that episodes are in one of, drawn from the seed; 0: "
        "each episode has one of its own",
    )  # fmt: skip

    def refusals(self) -> Iterator[str]:
        yield from super().refusals()
        if self.map and self.num_maps:
            yield f"grid.num_maps = {self.num_maps}: all episodes are in grid.map = {self.map}"
