"""The table `[preprocessing]`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from ...settings.section import EnvSection
from .settings import PROTOCOLS, Preprocessing

Side = Annotated[int, Field(ge=1, le=4096)]


class PreprocessingConfig(EnvSection):
    """What is done to an environment's frames, actions, rewards and episodes, in the order of
    docs/environments.md. A setting without a value is the protocol's, or the environment's own.
    """

    protocol: Literal["none", "deepmind", "machado"] = Field(
        "none",
        description="settings by name; deepmind: Mnih et al. 2015; machado: Machado et al. 2018, "
        "with sticky actions; keys of this table win over it",
    )
    frame_stack: int | None = Field(
        None, ge=1, le=64, description="last frames that an observation shows; 1: the last alone"
    )
    frame_skip: int | None = Field(
        None,
        ge=1,
        le=100,
        description="frames that an action is repeated for; an observation is the maximum of the "
        "last two",
    )
    greyscale: bool | None = Field(None, description="colour images become shades of grey")
    resize: tuple[Side, Side] | None = Field(
        None, description="height and width of images, as [84, 84]; a number is both"
    )
    sticky_actions: float | None = Field(
        None, ge=0, lt=1, description="probability that a frame repeats the action before; 0 to 1"
    )
    noop_starts: int | None = Field(
        None, ge=0, le=1000, description="games begin with 1 to so many frames without an action"
    )
    life_loss: bool | None = Field(
        None,
        description="a lost life ends an episode for learning; reported returns and lengths, and "
        "evaluations, are of whole games",
    )
    reward_sign: bool | None = Field(
        None,
        description="learn from the sign of rewards: -1, 0 or 1; reported returns, and "
        "evaluations, have the game's rewards",
    )
    time_limit: int | None = Field(
        None, ge=1, le=10**9, description="env steps after which a game is truncated"
    )

    @field_validator("resize", mode="before")
    @classmethod
    def _square(cls, value: object) -> object:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return (value, value) if is_number else value

    def settings(self) -> Preprocessing:
        """The settings; those that are not set have the protocol's values."""
        values = vars(PROTOCOLS[self.protocol])
        own = {key: value for key in values if (value := getattr(self, key, None)) is not None}
        return Preprocessing(**{**values, **own})
