"""The bytes of one publish: a record for the snapshot and one for the ring of rows."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple, SupportsFloat

from . import layout as at

# Behind a record's sequence comes its CRC-32, then what the CRC covers: metrics in use, publish
# number, wall, monotonic, iteration, env steps and how many places follow, these, and the values.
_CRC = struct.Struct("<I")
_SEALED_HEAD = struct.Struct("<IQqqqqq")
_NOT_A_NUMBER = (struct.error, TypeError, ValueError, OverflowError)


class Moment(NamedTuple):
    """One publish: its number, its time, and how far the run is."""

    number: int
    wall_ns: int
    elapsed_ns: int
    iteration: int
    env_steps: int


class Records:
    """Knows the place of every metric and its latest value.

    Records are made in memory of our own, sealed by their CRC, and reach the page whole; all but
    their sequence, which is written last.
    """

    def __init__(self, max_metrics: int) -> None:
        self.places: dict[str, int] = {}
        self._places_kept: dict[str, int] = {}
        self.names: tuple[str, ...] = ()  # in the order of their places
        self._max_metrics = max_metrics
        self._sparse: dict[int, struct.Struct] = {}  # by how many values there are
        self._latest = bytearray(at.NEVER * max_metrics)
        self._latest_values = memoryview(self._latest).cast("d")
        self._newest: bytes | None = None  # of all values at once, not yet among the latest
        self._make_struct()

    def add(self, name: str, kept: str) -> bool:
        """Give `name`, kept as `kept`, its place, the next if it is new; False when all are taken.

        Two names may be kept as one: a run that goes on knows only what its page kept.
        """
        place = self._places_kept.get(kept)
        if place is not None:
            self.places[name] = place
            return True
        if len(self.names) == self._max_metrics:
            self.places[name] = self._max_metrics
            return False
        self.places[name] = self._places_kept[kept] = len(self.names)
        self._take_newest()
        self.names = (*self.names, name)
        self._make_struct()
        return True

    def set(self, name: str, value: float) -> None:
        """Make `value` the latest of `name` without a publish."""
        self._take_newest()
        self._latest_values[self.places[name]] = value

    def latest(self, name: str) -> float:
        """The latest value of `name`; NaN where it was never written."""
        self._take_newest()
        place = self.places.get(name, self._max_metrics)
        return math.nan if place == self._max_metrics else self._latest_values[place]

    def of_all(
        self,
        values: Mapping[str, SupportsFloat],
        number: int,
        wall_ns: int,
        elapsed_ns: int,
        iteration: int,
        env_steps: int,
    ) -> bytes | None:
        """The one record of a publish of all metrics in the order of their places, the way of most
        publishes and therefore the fast one; None when `values` is anything else.
        """
        if tuple(values) != self.names:
            return None
        try:
            self._newest = sealed = self._pack(
                len(self.names),
                number,
                wall_ns,
                elapsed_ns,
                iteration,
                env_steps,
                0,
                *values.values(),
            )
        except _NOT_A_NUMBER:
            return None
        return _CRC.pack(zlib.crc32(sealed)) + sealed

    def of_some(self, values: Mapping[str, SupportsFloat], moment: Moment) -> tuple[bytes, bytes]:
        """The records for snapshot and ring of a publish of any of the metrics: in the snapshot the
        others keep their latest value, in the row they are never written.

        Raises KeyError when a name has no place, TypeError, ValueError or OverflowError when
        a value is no number.
        """
        self._take_newest()
        numbers = {self.places[name]: float(value) for name, value in values.items()}
        numbers.pop(self._max_metrics, None)  # what found no room
        for place, number in numbers.items():
            self._latest_values[place] = number
        latest = self._sealed(self._latest, moment)
        if 10 * len(numbers) < 8 * len(self.names):
            return latest, self._compact(numbers, moment)
        row = bytearray(at.NEVER * len(self.names))
        row_values = memoryview(row).cast("d")
        for place, number in numbers.items():
            row_values[place] = number
        return latest, self._sealed(row, moment)

    def _sealed(self, values: bytearray, moment: Moment) -> bytes:
        head = _SEALED_HEAD.pack(len(self.names), *moment, 0)
        sealed = head + values[: 8 * len(self.names)]
        return _CRC.pack(zlib.crc32(sealed)) + sealed

    def _compact(self, numbers: Mapping[int, float], moment: Moment) -> bytes:
        """A record of the places and values of `numbers` alone."""
        count = len(numbers)
        form = self._sparse.get(count)
        if form is None:
            spare = -count % 4  # values begin at a multiple of 8
            form = struct.Struct(f"{_SEALED_HEAD.format}{count}H{2 * spare}x{count}d")
            self._sparse[count] = form
        in_use = len(self.names) if count else 0  # of none, no place follows either
        sealed = form.pack(in_use, *moment, count, *numbers, *numbers.values())
        return _CRC.pack(zlib.crc32(sealed)) + sealed

    def _take_newest(self) -> None:
        """Bring the latest values up to the last record of all."""
        if self._newest is not None:
            values = self._newest[_SEALED_HEAD.size :]
            self._latest[: len(values)] = values
            self._newest = None

    def _make_struct(self) -> None:
        self._pack = struct.Struct(f"{_SEALED_HEAD.format}{len(self.names)}d").pack
