"""The settings of Gymnasium's environments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, field_validator

from ..settings.facts import Facts
from ..settings.section import EnvSection

# Why there are no workers, by `vectorization`.
WITHOUT_WORKERS = {
    "own": "the environment steps itself",
    "mjbatch": "threads of mjbatch step all environments",
}


class GymnasiumConfig(EnvSection):
    """How environments from Gymnasium are stepped."""

    vectorization: Literal["auto", "sync", "mjbatch", "own"] = Field(
        "auto",
        description="sync: one by one, here or in workers; mjbatch: MuJoCo v5 on "
        "threads; own: the environment is vectorised; auto: mjbatch if it is installed "
        "and no key of workers or preprocessing is set, else sync",
    )

    def ignored_keys(self, facts: Facts) -> Iterator[tuple[str, str]]:
        if reason := WITHOUT_WORKERS.get(self.vectorization):
            setting = f"gymnasium.vectorization = {self.vectorization}"
            for key in type(facts.tables["workers"]).model_fields:
                yield f"workers.{key}", f"with {setting} {reason}"
            for key in type(facts.tables["preprocessing"]).model_fields:
                yield f"preprocessing.{key}", f"{setting} has no preprocessing of operant's"

    @field_validator("vectorization", mode="before")
    @classmethod
    def _async_is_workers(cls, vectorization: object) -> object:
        if vectorization == "async":
            raise ValueError(
                "gymnasium.vectorization = async: use workers.num_workers to step in processes"
            )
        return vectorization
