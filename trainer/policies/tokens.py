"""Turns observed tokens, (cell, feature, value) in three bytes, into features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from ..jit.token_sums import ADD_GRADIENT, SUM_ROWS

EVERYWHERE, PADDING = 254, 255  # cells that are none: what is true of all, and no token
TYPICAL_TOKENS = 24  # of an observation; what first weights are made for


class Feature(NamedTuple):
    """The values of one feature: `kinds` unrelated things, numbered from 0, or
    with `kinds` 0 a quantity, which counts as `scale` times itself, or as log(1 + value).
    """

    kinds: int = 0
    scale: float = 1.0
    is_logarithmic: bool = False


class Tokens(NamedTuple):
    """How to read tokens: the window [height, width], whose cells are row << 4 | column, and the
    features by their numbers. What is not named counts for nothing.
    """

    height: int
    width: int
    features: tuple[tuple[int, Feature], ...]

    @property
    def num_cells(self) -> int:
        """The cells of the window, and one for facts about all of them."""
        return self.height * self.width + 1

    @property
    def num_rows(self) -> int:
        return self.num_cells * sum(max(1, feature.kinds) for _, feature in self.features)

    def tables(self) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]:
        """`row_of`, `scale_of` and `cell_of`, as `jit/token_sums.py` has them."""
        row_of, scale_of = np.full((256, 256), -1, np.int32), np.zeros((256, 256), np.float32)
        values, first = np.arange(256), 0
        for number, feature in self.features:
            if feature.kinds:
                row_of[number, : feature.kinds] = first + values[: feature.kinds]
                scale_of[number] = 1
            else:
                row_of[number] = first
                scale_of[number] = (
                    np.log1p(values) if feature.is_logarithmic else values * feature.scale
                )
            first += max(1, feature.kinds)
        cell_of = np.full(256, -1, np.int32)
        for row in range(self.height):
            places = row * self.width + np.arange(self.width)
            cell_of[(row << 4) : (row << 4) + self.width] = places
        cell_of[EVERYWHERE] = self.num_cells - 1
        return row_of, scale_of, cell_of


class TokenEmbedding(nn.Module):
    """Tokens [..., 3 K] uint8 to features [..., F]: relu(b + sum of s w[feature, value, cell]).

    That is a layer on boxes of as many channels as there are kinds of things, which are mostly
    empty: only what is seen is added up. `w` is `table` [R, F].
    """

    row_of: Tensor
    scale_of: Tensor
    cell_of: Tensor

    def __init__(self, tokens: Tokens, num_features: int, seed: int) -> None:
        """Weights are drawn from `seed` alone."""
        super().__init__()
        self.num_features, self.num_cells = num_features, tokens.num_cells
        for name, array in zip(("row_of", "scale_of", "cell_of"), tokens.tables(), strict=True):
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        deviation = TYPICAL_TOKENS**-0.5
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.randn(tokens.num_rows, num_features, generator=generator) * deviation
        self.table, self.bias = nn.Parameter(drawn), nn.Parameter(torch.zeros(num_features))

    def forward(self, tokens: Tensor) -> Tensor:
        rows = tokens.flatten(0, -2)
        if rows.device.type == "cpu" and not torch.compiler.is_exporting():
            add_up: Callable[..., Tensor] = SumOfRows.apply
            reading = (self.row_of, self.scale_of, self.cell_of, self.num_cells)
            sums = add_up(self.table, self.bias, rows.contiguous(), *reading)
        else:
            sums = self.bias + self._sums(rows)
        return sums.relu().view(*tokens.shape[:-1], self.num_features)

    def _sums(self, rows: Tensor) -> Tensor:
        """The same of [B, 3 K] by PyTorch's own operations, whatever the tokens."""
        cell, feature, value = rows.int().view(len(rows), -1, 3).unbind(-1)
        kind, place = self.row_of[feature, value], self.cell_of[cell]
        is_any = (kind >= 0) & (place >= 0)
        index = torch.where(is_any, kind * self.num_cells + place, 0)
        scale = torch.where(is_any, self.scale_of[feature, value], 0.0)
        if torch.compiler.is_exporting():
            return (self.table[index] * scale.unsqueeze(-1)).sum(-2)
        return embedding_bag(index, self.table, mode="sum", per_sample_weights=scale)


class SumOfRows(torch.autograd.Function):
    """b + the rows that tokens [B, 3 K] stand for, on the processor."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, bias: Tensor, tokens: Tensor, *reading: Tensor | int
    ) -> Tensor:
        size, most = len(tokens), tokens.shape[1] // 3
        sums = bias.detach().expand(size, -1).clone()
        chosen = np.empty((size, most), np.int32)
        scales, counts = np.empty((size, most), np.float32), np.empty(size, np.int32)
        *arrays, num_cells = reading
        SUM_ROWS(
            tokens.numpy(),
            *_numpy(arrays),
            num_cells,
            table.detach().numpy(),
            sums.numpy(),
            chosen,
            scales,
            counts,
        )
        ctx.kept, ctx.shape = (chosen, scales, counts), table.shape
        return sums

    @staticmethod
    def backward(ctx: Any, by_sums: Tensor) -> tuple[Any, ...]:
        by_table = torch.zeros(ctx.shape)
        ADD_GRADIENT(*ctx.kept, by_sums.contiguous().numpy(), by_table.numpy())
        return by_table, by_sums.sum(0), None, None, None, None, None


def _numpy(tensors: Sequence[Any]) -> list[NDArray[Any]]:
    return [tensor.numpy() for tensor in tensors]
