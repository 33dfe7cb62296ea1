"""What runs on environments of Gymnasium's can be told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..config.section import EnvSection


class GymnasiumConfig(EnvSection):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["sync", "async", "own"] = Field(
        "sync",
        description="one after the other, each in a process, or as the environment itself does it",
    )
