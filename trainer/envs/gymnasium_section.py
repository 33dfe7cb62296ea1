"""The settings of Gymnasium's environments."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ..settings.section import EnvSection


class GymnasiumConfig(EnvSection):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["auto", "sync", "mjbatch", "own"] = Field(
        "auto",
        description="sync: one by one, here or in workers; mjbatch: MuJoCo v5 on "
        "threads; own: the environment is vectorised; auto: mjbatch if it is installed "
        "and no key of workers or preprocessing is set, else sync",
    )

    @field_validator("vectorization", mode="before")
    @classmethod
    def _async_is_workers(cls, vectorization: object) -> object:
        if vectorization == "async":
            raise ValueError(
                "gymnasium.vectorization = async: use workers.num_workers to step in processes"
            )
        return vectorization
