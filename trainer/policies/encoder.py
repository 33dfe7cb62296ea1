"""Encoders: the modules from observations to features that networks begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from ...shared.errors import ConfigError
from ..settings.importing import imported
from ..settings.own_code import is_own, own_code, user_code
from ..settings.policy import PolicyConfig
from ..spaces import Spaces, num_numbers, obs_shape
from ..spaces.encoders import (
    ENVIRONMENT,
    IMAGE_ENCODERS,
    MLP,
    PARTS,
    Image,
    Part,
    chosen_encoder,
    image_of,
    is_packed,
    shows_tokens,
)
from .convolutions import CONVOLUTIONS
from .mlp import init_default, init_orthogonal
from .normalizers import as_numbers, numbers_of


class Encoder(Protocol):
    """A module from [..., obs_size] to [..., num_features]."""

    num_features: int

    def __call__(self, obs: Tensor) -> Tensor: ...

    def parameters(self) -> Iterator[nn.Parameter]: ...


class ShapedEncoder(nn.Module):
    """Rows [..., obs_size] in the shape that the environment gives them, through `module`, to
    features [..., num_features]. Bytes of images become numbers from 0 to 1.
    """

    def __init__(
        self, module: nn.Module, spec: Any, num_features: int, image: Image | None = None
    ) -> None:
        """With `image` the module gets images [B, channels, height, width], whatever the
        environment's order.
        """
        super().__init__()
        self.largest_of_parts: Tensor
        self.module, self.num_features = module, num_features
        self.obs_shape, self.num_inputs = obs_shape(spec), num_numbers(spec)
        self.packed_parts = spec.obs_parts if is_packed(spec) else ()
        if self.packed_parts:
            images = [part for part in self.packed_parts if part.encoder != MLP]
            largest = torch.ones(self.num_inputs)
            for part in images:
                largest[part.start : part.start + part.obs_size] = max(part.obs_range[1], 1.0)
            self.register_buffer("largest_of_parts", largest, persistent=False)
        is_bytes = spec.obs_type is np.uint8 and not (shows_tokens(spec) or self.packed_parts)
        self.largest = max(spec.obs_range[1], 1.0) if is_bytes else None
        self.is_large = image is not None and image.side >= IMAGE_ENCODERS["nature"]
        self.channel_axis = image.channel_axis if image else 0

    def forward(self, obs: Tensor) -> Tensor:
        if self.packed_parts:
            obs = as_numbers(obs, self.packed_parts) / self.largest_of_parts
        x = obs[..., : self.num_inputs].reshape(-1, *self.obs_shape)
        if self.channel_axis is None:
            x = x.unsqueeze(1)
        elif self.channel_axis:
            x = x.movedim(-1, 1)
        if self.is_large and x.device.type == "cpu" and not torch.compiler.is_exporting():
            # Large convolutions and their gradients then take a fifth to a third less time.
            x = x.to(torch.float32, memory_format=torch.channels_last)
        if self.largest is not None:
            x = x.float() / self.largest
        features: Any = self.module(x)
        shape = getattr(features, "shape", None)
        if shape is None or shape[0] != x.shape[0] or shape[1:].numel() != self.num_features:
            given = type(features).__name__ if shape is None else tuple(shape)
            raise ConfigError(
                f"policy.encoder: forward gives {given} for {len(x)} observations, expected "
                f"({len(x)}, {self.num_features}) as in its first call"
            )
        rows: Tensor = features.view(*obs.shape[:-1], self.num_features)
        return rows


class AsNumbers(nn.Module):
    """Rows [..., obs_size], of bytes or with an action mask at the end, as numbers without it."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.num_features = num_features

    def forward(self, obs: Tensor) -> Tensor:
        return obs[..., : self.num_features].float()


class PartsEncoder(nn.Module):
    """Rows [..., obs_size] of observations with several parts, such as those of dictionaries: each
    image through an encoder of its own, and all other numbers as they are, joined.
    """

    def __init__(
        self, parts: Sequence[Part], make: Callable[[Part, int], ShapedEncoder] | None
    ) -> None:
        """`make` gives the encoder of an image, by its number; None takes pixels as numbers."""
        super().__init__()
        self.parts = tuple(parts)
        self._has_encoder = [make is not None and part.encoder != MLP for part in parts]
        pairs = list(zip(parts, self._has_encoder, strict=True))
        images = [part for part, has in pairs if has]
        self.images = nn.ModuleList(make(x, number) for number, x in enumerate(images) if make)
        self.num_features = sum(encoder.num_features for encoder in self.images)  # type: ignore[misc]
        self.num_features += sum(part.obs_size for part, has in pairs if not has)

    def forward(self, obs: Tensor) -> Tensor:
        encoders = iter(self.images)
        features = []
        for part, has_encoder in zip(self.parts, self._has_encoder, strict=True):
            x = numbers_of(obs, part)
            features.append(next(encoders)(x) if has_encoder else x.float())
        return torch.cat(features, -1)


def make_encoder(
    config: PolicyConfig,
    spec: Spaces,
    seed: int,
    number: int = 0,
    *,
    from_replay: bool = True,
    orthogonal: bool = False,
    layer_norm: bool = False,
) -> Encoder | None:
    """The encoder of `policy.encoder`; None if observations go into the first layer as they are.

    Weights are drawn from `seed`, and are no repetition of those of layers with that seed. `number`
    tells apart the encoders of one policy. operant's own have `orthogonal` first weights, or else
    PyTorch's default ones, and with `layer_norm` norms before their activations. Raises ConfigError
    for an encoder that cannot read the observations.
    """
    name = chosen_encoder(config.encoder, spec, from_replay)
    (own_seed,) = np.random.SeedSequence((seed, 1 if from_replay else 2 + number)).generate_state(1)
    own_seed = int(own_seed)
    if name == ENVIRONMENT:
        brings: Any = spec
        made: Encoder = brings.make_encoder(own_seed)
        return made
    if is_own(name):
        return own_encoder(name, spec, own_seed)
    if name == MLP:
        if is_packed(spec):
            return PartsEncoder(spec.obs_parts, None)
        is_plain = spec.obs_type is not np.uint8 and not spec.mask_size
        return None if is_plain else AsNumbers(num_numbers(spec))

    def convolutions(name: str, spec: Any, seed: int) -> ShapedEncoder:
        image = image_of(obs_shape(spec))
        assert image
        module = CONVOLUTIONS[name](image, layer_norm)
        generator = torch.Generator().manual_seed(seed)
        if orthogonal:
            init_orthogonal(module, math.sqrt(2), generator)
        else:
            init_default(module, generator)
        return ShapedEncoder(module, spec, _num_features(module), image)

    if name == PARTS:
        parts = spec.obs_parts
        return PartsEncoder(
            parts, lambda x, number: convolutions(x.encoder, x.spaces, own_seed + number)
        )
    return convolutions(name, spec, own_seed)


def _num_features(module: nn.Sequential) -> int:
    return next(x.out_features for x in reversed(module) if isinstance(x, nn.Linear))


def own_encoder(name: str, spec: Spaces, seed: int) -> ShapedEncoder:
    """A network of the user's, `module:Class` or `own/NAME`: called with the shape of observations
    it gives a module, which is tried on observations of zeros. Raises ConfigError, one line that
    says what is wrong with it.
    """
    setting, shape = f"policy.encoder = {name}", obs_shape(spec)
    make = own_code(name, setting, "policy", "set policy.encoder = MODULE:NAME") or imported(
        "policy.encoder", name
    )
    has_tokens = shows_tokens(spec)
    zeros = torch.zeros(2, *shape, dtype=torch.uint8 if has_tokens else torch.float32)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        with user_code(f"{setting}: calling it with {shape}"):
            module = make(shape)
        if not isinstance(module, nn.Module):
            raise ConfigError(
                f"{setting}: calling it with {shape} gives a {type(module).__name__}, expected a "
                "torch.nn.Module"
            )
        with user_code(f"{setting}: its forward"):
            features = module(zeros)
        num_features = _checked_features(setting, module, features)
        _check_weights(setting, module, features)
        _check_forward(setting, module, zeros if has_tokens else torch.rand(3, *shape))
    return ShapedEncoder(module, spec, num_features)


def _checked_features(setting: str, module: nn.Module, features: Any) -> int:
    """The number of features."""
    if not isinstance(features, Tensor):
        raise ConfigError(f"{setting}: forward gives a {type(features).__name__}, not a tensor")
    said = getattr(module, "num_features", None)
    if features.dim() != 2 or len(features) != 2 or said not in (None, features.shape[1]):
        expected = "num_features" if said is None else said
        raise ConfigError(
            f"{setting}: forward gives {tuple(features.shape)} for 2 observations, expected "
            f"(2, {expected})"
        )
    if features.dtype != torch.float32 or not features.numel() or not _is_plain(features):
        said = f"{tuple(features.shape)} of {_in_words(features)}"
        raise ConfigError(f"{setting}: forward gives {said}, expected features of torch.float32")
    if not features.isfinite().all():
        raise ConfigError(f"{setting}: forward gives NaN or infinity for an observation of zeros")
    return int(features.shape[1])


def _check_weights(setting: str, module: nn.Module, features: Tensor) -> None:
    """Raises ConfigError unless all weights can be learned and are all that there is to save."""
    for layer in module.modules():
        if isinstance(layer, (_NormBase, _DropoutNd)):
            raise ConfigError(
                f"{setting}: {type(layer).__name__} depends on other samples or on chance, so that "
                "acting differs from learning; use LayerNorm or GroupNorm, or leave it out"
            )
    weights = dict(module.named_parameters())
    if not weights:
        raise ConfigError(f"{setting}: it has no parameters to learn")
    for name, weight in weights.items():
        if weight.dtype != torch.float32 or not weight.requires_grad or not _is_plain(weight):
            said = f"requires_grad = {weight.requires_grad}, {_in_words(weight)}"
            raise ConfigError(f"{setting}: {name} has {said}; all weights are learned, in float32")
    gradients: Sequence[Tensor | None] = (None,) * len(weights)
    if features.requires_grad:
        gradients = torch.autograd.grad(features.sum(), [*weights.values()], allow_unused=True)
    for name, gradient in zip(weights, gradients, strict=True):
        if gradient is None:
            raise ConfigError(f"{setting}: its features do not depend on {name}; remove it")
        if not _is_plain(gradient):
            raise ConfigError(f"{setting}: the gradient of {name} is sparse; make it a dense one")


def _is_plain(x: Tensor) -> bool:
    """Whether `x` has its numbers one by one in main memory."""
    return x.layout == torch.strided and x.device.type == "cpu"


def _in_words(x: Tensor) -> str:
    layout = "" if x.layout == torch.strided else f", {x.layout}"
    device = "" if x.device.type == "cpu" else f", on the device {x.device}"
    return f"{x.dtype}{layout}{device}"


def _check_forward(setting: str, module: nn.Module, obs: Tensor) -> None:
    """Raises ConfigError unless features depend on their own observation alone."""
    before, problem = obs.clone(), ""
    with torch.no_grad(), user_code(f"{setting}: its forward"):
        first, again = module(obs), module(obs)
        alone = torch.cat([module(row[None]) for row in before])
    if not torch.equal(obs, before):
        problem = "changes its observations in place"
    elif not torch.equal(first, again):
        problem = "gives other features for the same observations, as with dropout"
    elif alone.shape != first.shape or not torch.allclose(alone, first, rtol=1e-3, atol=1e-4):
        problem = "gives an observation other features if the batch has others"
    if problem:
        raise ConfigError(f"{setting}: forward {problem}: acting would differ from learning")


def is_shared(encoder: Encoder | None) -> bool:
    """Whether the networks of an agent share one. Of an environment's encoder each has its own."""
    return isinstance(encoder, ShapedEncoder | PartsEncoder | AsNumbers)


def has_weights(encoder: Encoder | None) -> bool:
    """Whether it learns, or only gives the numbers of a row to the first layer."""
    return encoder is not None and any(True for _ in encoder.parameters())


def sizes_behind(encoder: Encoder | None, spec: Spaces, *sizes: int) -> tuple[int, ...]:
    """Layer sizes: the input (features of the encoder, or observations), then `sizes`."""
    return (spec.obs_size if encoder is None else encoder.num_features, *sizes)


def begun_with(encoder: Encoder | None, layers: nn.Sequential) -> nn.Sequential:
    """The layers, behind the encoder where there is one."""
    if isinstance(encoder, nn.Module):
        layers.insert(0, encoder)
    return layers
