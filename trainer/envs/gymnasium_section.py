"""The settings of Gymnasium's environments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ..settings.section import EnvSection


class GymnasiumConfig(EnvSection):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["auto", "sync", "mjbatch", "own"] = Field(
        "auto",
        description="sync: one by one, here or in workers; mjbatch: MuJoCo's of version 5 on "
        "threads; own: the environment is vectorised; auto: mjbatch where it is installed and "
        "workers are not asked for, else sync",
    )

    @field_validator("vectorization", mode="before")
    @classmethod
    def _async_is_workers(cls, vectorization: object) -> object:
        if vectorization == "async":
            raise ValueError(
                "gymnasium.vectorization = async: use workers.num_workers to step in processes"
            )
        return vectorization
