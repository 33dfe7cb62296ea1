"""The networks of a policy: the tables `[policy]` and `[policy.memory]`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from ...shared.errors import nearest
from .own_code import is_own
from .section import Section


class MemoryConfig(Section):
    """A recurrent layer, for environments whose observations do not show their whole state."""

    kind: Literal["none", "lstm", "gru"] = Field(
        "none", description="recurrent layer after the hidden layers, shared by actor and critic"
    )
    size: int = Field(64, ge=1, le=4096, description="units of the recurrent layer; 1 to 4096")
    horizon: int = Field(
        0,
        ge=0,
        le=65_536,
        description="env steps to backpropagate through time; must divide rollout_steps; 0: the "
        "whole rollout",
    )

    @property
    def is_on(self) -> bool:
        return self.kind != "none"


ENCODERS = ("auto", "mlp", "environment", "nature", "impala", "minatar")


class PolicyConfig(Section):
    """The networks: an encoder, then hidden layers. An actor and a critic have the same shape and
    no layers in common, but for an encoder of images and with a memory.
    """

    encoder: str = Field(
        "auto",
        description="what observations go through first: auto, mlp (nothing), nature, impala or "
        "minatar (convolutions), environment (what it brings), or a network of your own, "
        "module:Class",
    )

    hidden_sizes: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = Field(
        (64, 64), max_length=8, description="units of each hidden layer; 1 to 4096"
    )
    activation: Literal["tanh", "relu", "elu"] = Field(
        "tanh", description="activation function after each hidden layer"
    )
    distribution: Literal["auto", "gaussian", "squashed_gaussian", "beta"] = Field(
        "auto",
        description="of continuous actions; auto: gaussian, or categorical for discrete actions",
    )
    initial_log_std: float = Field(
        0.0,
        ge=-5,
        le=2,
        description="initial log standard deviation of gaussians, in half action ranges; -5 to 2",
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32",
        description="of the networks' matrix products; weights, losses and physics stay float32",
    )
    memory: MemoryConfig = MemoryConfig()

    @field_validator("encoder")
    @classmethod
    def _encoder_exists(cls, encoder: str) -> str:
        if encoder not in ENCODERS and not is_own(encoder):
            raise ValueError(
                f"policy.encoder = '{encoder}' is not an encoder{nearest(encoder, ENCODERS)}; "
                f"there are {', '.join(ENCODERS)}, and module:Class for a network of your own"
            )
        return encoder
