"""Which encoder a policy begins with, by the observations of its environment; without PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...shared.errors import ConfigError
from . import Discrete, ObsType, Spaces, obs_shape

AUTO, MLP, ENVIRONMENT = "auto", "mlp", "environment"
PARTS = "parts"  # one for each image of a dictionary or a tuple; what `auto` may choose
# For images, with the smallest height and width that each has a use for.
IMAGE_ENCODERS = {"nature": 36, "impala": 8, "minatar": 3}


class Image(NamedTuple):
    """An observation of pixels. `channel_axis` is 0 or 2, or None if there is no such axis: that is
    one channel.
    """

    channels: int
    height: int
    width: int
    channel_axis: int | None

    @property
    def side(self) -> int:
        """The smaller of height and width."""
        return min(self.height, self.width)


@dataclass(frozen=True)
class Part:
    """A part of observations that are dictionaries or tuples: `obs_size` numbers, from number
    `start` of a flattened observation on, with the type and the range that the environment gives
    them. In packed rows they begin at the byte `offset`.
    """

    start: int
    offset: int
    obs_size: int
    obs_shape: tuple[int, ...]
    obs_type: ObsType
    obs_range: tuple[float, float]

    @property
    def obs_bytes(self) -> int:
        """Its bytes in a packed row."""
        return self.obs_size * np.dtype(self.obs_type).itemsize

    @property
    def encoder(self) -> str:
        """The name of its encoder: `mlp` for what is no image."""
        return _fitting(self.spaces, from_replay=False)

    @property
    def spaces(self) -> Spaces:
        """The part as the observations of an environment without actions."""
        return Spaces(
            "", self.obs_size, Discrete(0), obs_shape=self.obs_shape, obs_type=self.obs_type,
            obs_range=self.obs_range,
        )  # fmt: skip


def is_packed(spec: Spaces) -> bool:
    """Whether rows of observations are bytes in which several parts lie side by side, each in its
    own type: so it is if one of them is an image of bytes.
    """
    return bool(spec.obs_parts) and spec.obs_type is np.uint8


def image_of(shape: tuple[int, ...]) -> Image | None:
    """An observation of this shape as an image: of three axes the channels are the first or the
    last, whichever is smaller. None for other numbers of axes.
    """
    if len(shape) == 2:
        return Image(1, *shape, None)
    if len(shape) != 3:
        return None
    first, middle, last = shape
    return Image(first, middle, last, 0) if first < last else Image(last, first, middle, 2)


def shows_tokens(spec: Spaces) -> bool:
    """Whether observations are bytes that are no numbers to compute with."""
    return spec.obs_type is np.uint8 and len(obs_shape(spec)) == 1 and not spec.obs_parts


def chosen_encoder(wanted: str, spec: Spaces, from_replay: bool) -> str:
    """The name of the encoder that a run uses, if `policy.encoder` is `wanted`; never `auto`.

    `auto` is the environment's own encoder, for tokens and for algorithms that learn `from_replay`;
    `nature` or `minatar` for images; `parts` for dictionaries and tuples with images; else `mlp`.
    Raises ConfigError for an encoder that cannot read the observations.
    """
    if wanted == AUTO:
        return _fitting(spec, from_replay)
    setting, shape = f"policy.encoder = {wanted}", obs_shape(spec)
    if wanted == ENVIRONMENT and spec.make_encoder is None:
        raise ConfigError(f"{setting}: the environment brings no encoder; use auto")
    if wanted == MLP and shows_tokens(spec):
        raise ConfigError(f"{setting}: observations are tokens, not numbers; use auto")
    if wanted in IMAGE_ENCODERS:
        least, image = IMAGE_ENCODERS[wanted], image_of(shape)
        if spec.obs_parts:
            raise ConfigError(
                f"{setting} is for images, and observations are dictionaries or tuples; use auto, "
                "which gives each image an encoder"
            )
        if image is None:
            raise ConfigError(
                f"{setting} is for images, [height, width] with or without channels, and "
                f"observations have the shape {shape}; use mlp"
            )
        if image.side < least:
            raise ConfigError(
                f"{setting} needs images of at least {least} x {least}, and these are "
                f"{image.height} x {image.width}; use auto"
            )
        _check_range(setting, spec)
    return wanted


def _fitting(spec: Spaces, from_replay: bool) -> str:
    if spec.make_encoder and (from_replay or shows_tokens(spec)):
        return ENVIRONMENT
    if any(part.encoder != MLP for part in spec.obs_parts):
        return PARTS
    image, is_bytes = image_of(obs_shape(spec)), spec.obs_type is np.uint8
    if image is None or image.side < IMAGE_ENCODERS["minatar"]:
        return MLP
    is_large = image.side >= IMAGE_ENCODERS["nature"]
    if not is_bytes and (image.channel_axis is None or not _is_unit(spec)):
        if is_large and image.channel_axis is not None:
            _check_range("policy.encoder = auto", spec)
        return MLP  # a table of numbers
    return "nature" if is_large else "minatar"


def _is_unit(spec: Spaces) -> bool:
    low, high = spec.obs_range
    return low >= 0 and high <= 1


def _check_range(setting: str, spec: Spaces) -> None:
    if spec.obs_type is not np.uint8 and not _is_unit(spec):
        low, high = spec.obs_range
        raise ConfigError(
            f"{setting}: images are bytes (uint8) or numbers from 0 to 1, and these are from "
            f"{low:g} to {high:g}; scale them, or use mlp"
        )
