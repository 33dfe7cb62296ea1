"""The settings of Gymnasium's environments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ..settings.section import EnvSection


class GymnasiumConfig(EnvSection):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["sync", "own"] = Field(
        "sync", description="one by one, here or in workers; own: the environment is vectorised"
    )

    @field_validator("vectorization", mode="before")
    @classmethod
    def _async_is_workers(cls, vectorization: object) -> object:
        if vectorization == "async":
            raise ValueError(
                "gymnasium.vectorization = async: use workers.num_workers to step in processes"
            )
        return vectorization
