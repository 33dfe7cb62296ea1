"""What runs on environments of Gymnasium's can be told."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ..config.section import EnvSection


class GymnasiumConfig(EnvSection):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["sync", "own"] = Field(
        "sync", description="one by one, here or in workers; or as the environment itself does it"
    )

    @field_validator("vectorization", mode="before")
    @classmethod
    def _async_is_workers(cls, vectorization: object) -> object:
        if vectorization == "async":
            raise ValueError(
                "gymnasium.vectorization = async: processes are told by workers.num_workers now"
            )
        return vectorization
