"""Rows as bytes: a batch by columns, compressed."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from ..errors import RowFileError
from .row_batch import HEADS, RowBatch

CHUNK_ROWS = 1024
CHUNK_BYTES = 4 << 20  # before it is compressed
# What a reader goes along with: a tail may be a chunk, and as much again.
MAX_BLOB_BYTES = 3 * CHUNK_BYTES
BLOB = struct.Struct("<III")  # rows, columns, bytes of what follows before it was compressed


def parts(batch: RowBatch) -> Iterator[RowBatch]:
    """`batch` in pieces, of the length of a chunk at most."""
    size = chunk_rows([batch])
    for begin in range(0, len(batch), size):
        yield batch.part(slice(begin, begin + size))


def chunk_rows(batches: Sequence[RowBatch]) -> int:
    """How many rows with all metrics of these make a chunk."""
    columns = len(np.unique(np.concatenate([batch.places for batch in batches])))
    return min(CHUNK_ROWS, max(1, CHUNK_BYTES // (8 * (HEADS + columns))))


def encoded(batch: RowBatch) -> bytes:
    """Numbers by columns: of the heads the differences, of all of them byte by byte, which makes
    slow change compress well.
    """
    heads = batch.heads.copy()
    heads[:, 1:] = np.diff(batch.heads, axis=1)
    numbers = np.concatenate([heads.view(np.uint64), batch.values.view(np.uint64)])
    planes = np.ascontiguousarray(numbers.reshape(-1)[:, None].view(np.uint8).T)
    data = batch.places.astype("<u2").tobytes() + planes.tobytes()
    return BLOB.pack(len(batch), len(batch.places), len(data)) + zlib.compress(data, 1)


def decoded(blob: bytes) -> RowBatch:
    """Raises RowFileError when it is no batch: a file is bytes that anyone may write."""
    try:
        num_rows, columns, size_bytes = BLOB.unpack_from(blob)
        if size_bytes > MAX_BLOB_BYTES or size_bytes != 2 * columns + 8 * num_rows * (
            HEADS + columns
        ):
            raise ValueError("its sizes do not fit together")
        data = zlib.decompressobj().decompress(blob[BLOB.size :], size_bytes)
        places = np.frombuffer(data, "<u2", columns).astype(np.int64)
        planes = np.frombuffer(data, np.uint8, offset=2 * columns).reshape(8, -1)
        numbers = np.ascontiguousarray(planes.T).view(np.uint64).reshape(HEADS + columns, num_rows)
        heads = np.cumsum(numbers[:HEADS].view(np.int64), axis=1)
        return RowBatch(heads, places, numbers[HEADS:].view(np.float64))
    except (ValueError, TypeError, struct.error, zlib.error) as error:
        raise RowFileError(f"a batch of rows is damaged: {error}") from None
