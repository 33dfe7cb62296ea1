"""From a table of the configuration to environments, here and in workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ....shared.errors import ConfigError
from ....shared.harmless import one_line
from ..grid.kinds import ACTIONS, TOKEN_SIZE
from ..spec import Discrete, ObsType
from ..workers.arrays import Counters
from .batch import MettaGridBatch
from .games import arena, game_of_ones_own
from .library import library
from .section import MettaGridConfig


@dataclass(frozen=True)
class MettaGridSource:
    """What is known of a game, and of a policy's view of it."""

    section: MettaGridConfig
    obs_size: int
    actions: Discrete
    name: str = "mettagrid"
    obs_type: ObsType = np.uint8
    can_restart: bool = True
    agents_retire: bool = False  # all end together

    @property
    def num_agents(self) -> int:
        return self.section.num_agents

    def for_workers(self) -> MettaGridSource:
        return self

    def make(self, num_envs: int, counters: Counters) -> MettaGridBatch:
        return MettaGridBatch(num_envs, game_of(self.section), self, counters)

    def make_embedding(self, seed: int) -> Any:
        """`EnvSpec.make_embedding`: of the arena the one that operant's own grid has."""
        from .reading import embedding_for  # torch takes a second to import, and workers need none

        return embedding_for(self.section, game_of(self.section), seed)


def game_of(section: MettaGridConfig) -> Any:
    """Raises ConfigError."""
    return game_of_ones_own(section) if section.config else arena(section)


@cache
def source_of(section: MettaGridConfig) -> MettaGridSource:
    """Looks at one world. Raises ConfigError where there is none, or one that is not known."""
    for refusal in section.refusals():
        raise ConfigError(refusal)
    try:
        game = game_of(section)
        names = [action.name for action in game.actions.actions()]
        if not section.config and tuple(names) != ACTIONS:
            raise ConfigError(f"mettagrid {library().version} has other actions: {names}")
        source = MettaGridSource(section, game.obs.num_tokens * TOKEN_SIZE, Discrete(len(names)))
        batch = source.make(1, Counters(np.zeros(3), np.zeros(1, np.int64)))
        batch.check()
    except ConfigError:
        raise
    except Exception as error:  # whatever the library raises for a game that it cannot play
        said = one_line(f"{type(error).__name__}: {error}", 200)
        raise ConfigError(f"mettagrid {library().version} makes no such world: {said}") from None
    return source
