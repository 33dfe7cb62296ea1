"""The settings of MettaGrid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from ..grid.section import ArenaSection

OF_ANY_GAME = ("config", "num_agents", "embedding_size")  # keys that count with a game of one's own


class MettaGridConfig(ArenaSection):
    """An arena in MettaGrid, or a game of one's own."""

    name: ClassVar[str] = "mettagrid"

    config: str = Field(
        "",
        description="your own game instead of the arena: a JSON file of a MettaGridConfig, "
        "or module:function that returns one",
    )

    def refusals(self) -> Iterator[str]:
        if self.config:
            of_arena = [key for key in type(self).model_fields if key not in OF_ANY_GAME]
            other = f"mettagrid.config = {self.config} is another game"
            yield from self.set_in_vain(of_arena, f"that is of the arena, and {other}")
        yield from super().refusals()
