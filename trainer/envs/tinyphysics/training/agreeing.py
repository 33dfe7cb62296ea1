"""What several ranks that drive the same routes have to agree on: the files, and the engine."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import torch

from .....shared.errors import UsageError
from ..engines.choosing import ENGINE_NAMES
from ..engines.engine import Engine
from ..model_file import read_model
from ..places import model_path

if TYPE_CHECKING:
    from ....ranks.single import Ranks
    from ..routes import Routes
    from ..sections import TinyPhysicsConfig


def engine_of_first(ranks: Ranks, engine: Engine | None) -> str:
    """The name of the engine that rank 0 has made; the others pass none."""
    number = ENGINE_NAMES.index(engine.name) if engine else 0
    return ENGINE_NAMES[int(ranks.sum(torch.tensor([number])))]


def check_files_alike(ranks: Ranks, settings: TinyPhysicsConfig, routes: Routes) -> None:
    """Raises UsageError, in all ranks, where one has another model or other routes than rank 0."""
    model = read_model(model_path(settings.model)).SerializeToString(deterministic=True)
    names = "\n".join(routes.names).encode()
    digests = {
        "another model": zlib.crc32(model),
        "other routes": zlib.crc32(routes.rows.tobytes(), zlib.crc32(names)),
    }
    for what, own in digests.items():
        each = torch.zeros(ranks.size, dtype=torch.int64)
        each[ranks.rank] = own
        first, *others = ranks.sum(each).tolist()
        for rank, other in enumerate(others, 1):
            if other != first:
                raise UsageError(f"rank {rank} has {what} of tinyphysics than rank 0 has")
