"""An episode as a file: the view at every step, which can be played again without the environment
and the policy.

The file is gzipped JSON lines: a header with the environment and the seed, then one line per
moment. A shape is written once, with the first moment that shows it; moments refer to shapes by
number. Nothing in a file is executed, and an inconsistent file is refused.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, get_args

import numpy as np

from ..errors import UsageError
from ..runs.small_file import open_regular
from .scene import ROLES, Frame, Kind, Moment, Scene, Shape, points_of

FORMAT = "operant episode 1"
# The limits of a file and of a line. Lines stay in memory as text and are parsed one at a time:
# their numbers take up to 25 times as much memory.
MOST_BYTES, MOST_LINE_BYTES = 2**29, 2**24
_SHAPE_BYTES = 300  # of memory, without its points
MOST_MOMENTS, MOST_PIXELS, MOST_AGENTS = 200_000, 2**24, 10_000


def write_moments(file: IO[bytes], env: str, seed: int, moments: Iterable[Moment]) -> int:
    """Write all `moments` of an episode to an open file; returns how many. Raises OSError."""
    numbers: dict[str, int] = {}
    count = 0
    with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        packed.write(_line({"format": FORMAT, "env": env, "seed": seed}))
        for moment in moments:
            packed.write(_line(_moment_as_json(moment, numbers)))
            count += 1
    return count


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _moment_as_json(moment: Moment, numbers: dict[str, int]) -> dict[str, Any]:
    fields = {
        "step": moment.step,
        "returns": [_number(x) for x in moment.returns],
        "endings": list(moment.endings),
        "is_over": moment.is_over,
    }
    view = moment.view
    if isinstance(view, Frame):
        height, width, _ = view.pixels.shape
        pixels = base64.b64encode(zlib.compress(view.pixels.tobytes(), 1)).decode()
        return {**fields, "size": [height, width], "pixels": pixels}
    new, seen = [], []
    for shape in view.shapes:
        as_json = _shape_as_json(shape)
        key = json.dumps(as_json)
        if key not in numbers:
            numbers[key] = len(numbers)
            new.append(as_json)
        seen.append(numbers[key])
    part = [*view.low, *view.high]
    return {**fields, "part": part, "is_stretched": view.is_stretched, "new": new, "shapes": seen}


def _shape_as_json(shape: Shape) -> list[Any]:
    points = [_number(x) for x in shape.points.ravel().tolist()]
    return [shape.kind, shape.role, round(shape.radius, 4), shape.text, shape.agent, points]


def _number(x: float) -> float | None:
    return round(float(x), 4) if math.isfinite(x) else None


def read_episode(
    path: Path, beneath: Path | None = None, most_bytes: int = MOST_BYTES
) -> RecordedEpisode:
    """Read the file at `path`, see `open_regular`; it may take `most_bytes` of memory. Raises
    UsageError if it is not a complete episode file.
    """
    try:
        with os.fdopen(open_regular(path, beneath), "rb") as file:
            packed = _lines(file, most_bytes)
            head = json.loads(next(packed, b"null"))
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                raise UsageError(f"{path} is not a file of an episode that operant recorded")
            shapes: list[Shape] = []
            lines = []
            num_agents = set()
            for line in packed:
                values = json.loads(line)
                new = [_shape(shape) for shape in values.get("new", ())]
                shapes += new
                most_bytes -= len(line) + sum(_SHAPE_BYTES + shape.points.nbytes for shape in new)
                if most_bytes < 0:
                    raise ValueError("it is too large")
                num_agents.add(len(_moment(values, shapes).returns))
                lines.append(line)
            if len(num_agents) != 1:
                raise ValueError("no moments, or a changing number of agents")
            return RecordedEpisode(
                str(head["env"]), int(head["seed"]), num_agents.pop(), lines, shapes
            )
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        EOFError,
        zlib.error,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise UsageError(f"{path} is damaged: {str(error)[:100] or type(error).__name__}") from None


def _lines(file: IO[bytes], left: int) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as packed:
        for number in range(MOST_MOMENTS + 2):
            line = packed.readline(MOST_LINE_BYTES + 1)
            left -= len(line)
            if left < 0 or number > MOST_MOMENTS or len(line) > MOST_LINE_BYTES:
                raise ValueError("it is too large")
            if not line:
                return
            yield line


def _moment(values: dict[str, Any], shapes: list[Shape]) -> Moment:
    returns = tuple(math.nan if x is None else float(x) for x in values["returns"])
    endings = tuple(map(str, values["endings"]))
    if len(returns) > MOST_AGENTS or len(endings) != len(returns):
        raise ValueError("an odd number of agents")
    return Moment(
        _frame(values) if "pixels" in values else _scene(values, shapes),
        int(values["step"]),
        returns,
        endings,
        bool(values["is_over"]),
    )


def _frame(values: dict[str, Any]) -> Frame:
    height, width = map(int, values["size"])
    size = height * width * 3
    if not (height > 0 and width > 0 and size <= MOST_PIXELS * 3):
        raise ValueError(f"a frame of {height} x {width}")
    unpacker = zlib.decompressobj()
    pixels = unpacker.decompress(base64.b64decode(values["pixels"]), size + 1)
    return Frame(np.frombuffer(pixels, np.uint8).reshape(height, width, 3))


def _scene(values: dict[str, Any], shapes: list[Shape]) -> Scene:
    numbers = [int(number) for number in values["shapes"]]
    if min(numbers, default=0) < 0:
        raise ValueError("a shape that is not there")
    seen = [shapes[number] for number in numbers]
    x0, y0, x1, y1 = map(float, values["part"])
    if not (x0 < x1 < math.inf and y0 < y1 < math.inf and min(x0, y0) > -math.inf):
        raise ValueError(f"a view of {values['part']}")
    return Scene((x0, y0), (x1, y1), tuple(seen), bool(values["is_stretched"]))


def _shape(values: list[Any]) -> Shape:
    kind, role, radius, text, agent, numbers = values
    if kind not in get_args(Kind) or role not in ROLES or not 0 <= radius < math.inf:
        raise ValueError(f"a shape of {str(values[:3])[:60]}")
    points = points_of([math.nan if x is None else float(x) for x in numbers])
    if not len(points) or (kind != "line" and not np.isfinite(points).all()):
        raise ValueError(f"a {kind} without points")
    return Shape(kind, points, role, float(radius), str(text), int(agent))


class RecordedEpisode:
    """`Episodes` with one recorded episode. The view is that of the first agent, whichever is
    selected.
    """

    num_episodes: int | None = 1

    def __init__(
        self, env: str, seed: int, num_agents: int, lines: list[bytes], shapes: list[Shape]
    ) -> None:
        self.env, self.seed, self.num_agents = env, seed, num_agents
        self._lines, self._shapes, self._at = lines, shapes, 0

    def begin(self, seed: int, number: int) -> None:
        self._at = 0

    def step(self) -> bool:
        """Go to the next moment; returns whether it is the last."""
        self._at = min(self._at + 1, len(self._lines) - 1)
        return self._at == len(self._lines) - 1

    def moment(self, selected: int) -> Moment:
        return _moment(json.loads(self._lines[self._at]), self._shapes)

    def close(self) -> None:
        """Has no effect: nothing is open."""
