"""Images, videos, texts, histograms and tables, in the shapes of wandb's classes. Histograms become
metrics, the others files in a run's `media/`.
"""

from __future__ import annotations

import csv
import io
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..page.schema import QUANTILES
from ..text.plain_values import plain, text_of
from .accepted import unknown_keywords
from .media_folder import MAX_FILE_BYTES, MediaFolder, NoRoomForMediaError
from .pictures import array_of, picture_bytes, video_bytes

NO_VALUES = "no finite values"

# Writes one file: its name, its ending, its bytes, its caption.
WriteFile = Callable[[str, str, bytes, str], Any]


class Media:
    """An object that is kept as files."""

    kind = "files"
    ending = ".bin"
    may_be_path = True
    caption_at = 0  # its place among wandb's positional arguments after the data

    def __init__(self, data: Any = None, *more: Any, caption: Any = None, **keywords: Any) -> None:
        if caption is None and len(more) > self.caption_at:
            caption = more[self.caption_at]
        self.data, self.caption = data, caption
        self.keywords = keywords

    def numbers(self) -> Mapping[str, float]:
        """The metrics of the object, to be put below the name under which it is logged."""
        return {}

    def left_out(self) -> str:
        """A text that says how many values the metrics leave out; empty if none."""
        return ""

    def write(self, name: str, write_file: WriteFile) -> None:
        """Write the files. Raises ValueError or OSError if the data cannot be written."""
        caption = "" if self.caption is None else text_of(self.caption)
        if self.may_be_path and is_path(self.data):
            write_file(name, Path(self.data).suffix, file_bytes(self.data), caption)
        elif hasattr(self.data, "read"):
            content = self.data.read(MAX_FILE_BYTES + 1)
            ending = Path(str(getattr(self.data, "name", ""))).suffix or self.ending
            content = content.encode() if isinstance(content, str) else content
            write_file(name, ending, content, caption)
        elif isinstance(self.data, bytes):
            write_file(name, self.ending, self.data, caption)
        else:
            write_file(name, *self.encoded(), caption)

    def encoded(self) -> tuple[str, bytes]:
        """The ending and the bytes of data that is neither a path nor an open file."""
        raise ValueError(f"a {type(self.data).__name__} cannot be kept as a file")


class Image(Media):
    """An image: a path, an array or tensor, a PIL image or a matplotlib figure."""

    kind, ending = "images", ".png"
    caption_at = 1

    def __init__(self, data: Any = None, *more: Any, **keywords: Any) -> None:
        super().__init__(data, *more, **keywords)
        if isinstance(data, Image):
            self.data = data.data
            self.caption = data.caption if self.caption is None else self.caption

    def encoded(self) -> tuple[str, bytes]:
        return ".png", picture_bytes(self.data, self.keywords.get("channels_first"))


class Video(Media):
    """A video: a path, an open file, or frames [time, channels, height, width], which become an
    animated PNG.
    """

    kind, ending = "videos", ".mp4"

    def encoded(self) -> tuple[str, bytes]:
        return ".png", video_bytes(self.data, float(self.keywords.get("fps") or 4))


class Text(Media):
    """A text of several lines, as Markdown. A text of one line becomes an event instead."""

    kind, ending = "texts", ".md"
    may_be_path = False

    def encoded(self) -> tuple[str, bytes]:
        return ".md", text_of(self.data).encode("utf-8", "replace")


class Histogram(Media):
    """A distribution, of values or of counts and edges: kept as quantiles, which are metrics."""

    def __init__(
        self, sequence: Any = None, np_histogram: Any = None, *_: Any, **keywords: Any
    ) -> None:
        super().__init__(sequence, **keywords)
        self.np_histogram = np_histogram

    def numbers(self) -> Mapping[str, float]:
        if self.np_histogram is not None:
            counts, edges = self.np_histogram[:2]
            return quantiles_of_buckets(counts, edges)
        return quantiles_of(array_of(self.data))

    def left_out(self) -> str:
        if self.np_histogram is not None:
            return "" if self.numbers() else NO_VALUES
        return not_finite_in_words(array_of(self.data))

    def write(self, name: str, write_file: WriteFile) -> None:
        """Write nothing: a histogram has metrics and no file."""


class Table(Media):
    """A table as CSV; images and other media in its cells become files of their own."""

    kind, ending = "tables", ".csv"

    def __init__(
        self,
        columns: Any = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        **keywords: Any,
    ) -> None:
        super().__init__()
        for known in ("dtype", "optional", "allow_mixed_types", "log_mode"):
            keywords.pop(known, None)
        unknown_keywords("Table", keywords)
        frame = data if hasattr(data, "itertuples") else dataframe
        if frame is not None:
            self.columns = [text_of(column) for column in frame.columns]
            self.data = [list(row) for row in frame.itertuples(index=False, name=None)]
            return
        given = data if data is not None else rows
        self.data = [_cells(row) for row in given] if given is not None else []
        width = max((len(row) for row in self.data), default=0)
        default = ["Input", "Output", "Expected"] if not width else range(width)
        self.columns = [text_of(column) for column in (columns if columns is not None else default)]

    def add_data(self, *cells: Any) -> None:
        """Add a row."""
        self.data.append(list(cells))

    def add_row(self, *row: Any) -> None:
        self.data.append(_cells(row[0]) if len(row) == 1 else list(row))

    def add_column(self, name: str, data: Any, optional: bool = False) -> None:
        cells = list(data)
        if not self.data:
            self.data = [[] for _ in cells]
            self.columns = [] if not any(self.data) else self.columns
        for row, cell in zip(self.data, cells, strict=False):
            row.append(cell)
        self.columns.append(text_of(name))

    def get_column(self, name: str, convert_to: str | None = None) -> Any:
        at = self.columns.index(name)
        cells = [row[at] for row in self.data]
        if convert_to == "numpy":
            import numpy as np

            return np.asarray(cells)
        return cells

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        yield from enumerate(self.data)

    def write(self, name: str, write_file: WriteFile) -> None:
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(self.columns)
        for number, row in enumerate(self.data):
            writer.writerow([_cell(f"{name}.{number}", cell, write_file) for cell in row])
            if text.tell() > MAX_FILE_BYTES:
                raise ValueError(f"{len(self.data)} rows are more than {MAX_FILE_BYTES >> 20} MiB")
        write_file(name, ".csv", text.getvalue().encode("utf-8", "replace"), "")


class KeptObjects:
    """Writes the objects that are logged to one run into `media/` in its folder."""

    def __init__(self, folder: Path, warn: Callable[[str, str], None]) -> None:
        """`warn(key, text)` reports a text once for a key."""
        self._media = MediaFolder(folder / "media")
        self._warn = warn

    def take(self, name: str, value: Any, step: int) -> Mapping[str, float]:
        """Write the files of `value`, which is logged as `name` at `step`. Returns its metrics by
        their full names. Warns once per name of a value that cannot be kept.
        """
        try:
            parts = list(_as_media(name, value))
            return self._kept(parts, step) if parts else self._distribution(name, value)
        except Exception as error:  # whatever a foreign object raises
            self._warn(f"keep {name}", f"'{name}' is not kept: {type(error).__name__}: {error}")
            return {}

    def _kept(self, parts: list[tuple[str, Media]], step: int) -> dict[str, float]:
        """Write the files of all `parts`; returns their metrics."""
        numbers: dict[str, float] = {}
        for name, media in parts:
            try:
                media.write(name, lambda *file, kind=media.kind: self._write(kind, step, *file))
                numbers |= {f"{name}/{key}": number for key, number in media.numbers().items()}
                self._say_left_out(name, media.left_out())
            except NoRoomForMediaError as error:
                self._warn("media room", f"'{name}' and more are not kept: {error}")
            except Exception as error:  # whatever a foreign object or a disk raises
                self._warn(f"keep {name}", f"'{name}' is not kept: {error}")
        return numbers

    def _write(
        self, kind: str, step: int, name: str, ending: str, content: bytes, caption: str
    ) -> Path:
        return self._media.write(kind, name, step, ending, content, caption)

    def _distribution(self, name: str, value: Any) -> dict[str, float]:
        """The metrics of an array, a tensor or a list of numbers: its quantiles."""
        try:
            values = array_of(value)
            if values.ndim or not _finite(values).size:  # a single masked number is left out
                quantiles = quantiles_of(values)
                if _numbers(values).size:  # masked values need no warning
                    self._say_left_out(name, not_finite_in_words(values))
                return {f"{name}/{key}": number for key, number in quantiles.items()}
        except Exception:
            pass
        self._warn(
            name, f"'{name}' is no number, but of type {type(value).__name__}: it is not kept"
        )
        return {}

    def _say_left_out(self, name: str, text: str) -> None:
        if text:
            self._warn(f"finite {name}", f"'{name}': {text}")


def _as_media(name: str, value: Any) -> Iterator[tuple[str, Media]]:
    """`value` as media with their names; nothing if it is not media."""
    if isinstance(value, Media):
        yield name, value
    elif hasattr(value, "savefig"):
        yield name, Image(value)
    elif hasattr(value, "itertuples") and hasattr(value, "columns"):
        yield name, Table(dataframe=value)
    elif isinstance(value, list | tuple) and all(isinstance(item, Media) for item in value):
        for number, media in enumerate(value):
            yield f"{name}.{number}", media


def is_path(data: Any) -> bool:
    """Whether `data` is the path of an existing file, and not just a short text."""
    if isinstance(data, os.PathLike):
        return True
    if not isinstance(data, str) or len(data) > 4096 or "\n" in data or "\0" in data:
        return False
    return os.path.isfile(data)


def file_bytes(path: Any) -> bytes:
    """The contents of a regular file of at most MAX_FILE_BYTES. Raises ValueError or OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe without a writer would wait
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError(f"{path} is not a regular file")
        if about.st_size > MAX_FILE_BYTES:
            raise ValueError(f"{path} has more than {MAX_FILE_BYTES >> 20} MiB")
        return file.read(MAX_FILE_BYTES + 1)


def _cells(row: Any) -> list[Any]:
    return list(row) if isinstance(row, Sequence) and not isinstance(row, str) else _listed(row)


def _listed(row: Any) -> list[Any]:
    listed = row.tolist() if hasattr(row, "tolist") else row
    return list(listed) if isinstance(listed, list | tuple) else [listed]


def _cell(name: str, cell: Any, write_file: WriteFile) -> Any:
    if cell is None or type(cell) in (bool, int, float):
        return cell
    if not isinstance(cell, Media):
        # Lists that hold each other twice unfold into billions.
        return text_of(cell) if isinstance(cell, str) else str(plain(cell))
    names: list[str] = []
    cell.write(name, lambda *file: names.append(write_file(*file).name))
    return " ".join(names) or " ".join(f"{k}={v:g}" for k, v in cell.numbers().items())


def quantiles_of(values: Any) -> dict[str, float]:
    """The quantiles `{"p05": ..., ..., "p95": ...}` of the finite numbers among `values`, of any
    shape; empty if there are none.
    """
    import numpy as np

    numbers = _finite(values)
    if not numbers.size:
        return {}
    # Divided by two, as the distance between the largest numbers of both signs overflows.
    scale = 2.0 if np.abs(numbers).max() > np.finfo(np.float64).max / 2 else 1.0
    return _named(scale * np.percentile(numbers / scale, list(QUANTILES.values())))


def not_finite_in_words(values: Any) -> str:
    """A text that says how many of `values`, of any shape, are not finite; empty if all are."""
    numbers = _numbers(values)
    num_finite = _finite(values).size
    if not num_finite:
        return NO_VALUES
    num_others = numbers.size - num_finite
    return f"{num_others} of {numbers.size} values are not finite" if num_others else ""


def _finite(values: Any) -> Any:
    """The finite numbers among `values`, of any shape, as [V]; masked values are left out."""
    import numpy as np

    numbers = _numbers(values)
    return numbers[np.isfinite(numbers)]


def _numbers(values: Any) -> Any:
    """`values`, of any shape, as [V]; masked values are left out."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        values = values.compressed()
    with np.errstate(over="ignore"):  # of longer floats: infinity is left out as any other
        return np.asarray(values, dtype=np.float64).ravel()


def quantiles_of_buckets(counts: Any, edges: Any) -> dict[str, float]:
    """The quantiles of a histogram with `counts` [B] between `edges` [B + 1]; values are assumed to
    be spread evenly within a bucket.

    Raises ValueError when the lengths do not fit or counts are negative.
    """
    import numpy as np

    counts = np.asarray(counts, dtype=np.float64).ravel()
    edges = np.asarray(edges, dtype=np.float64).ravel()
    if edges.size != counts.size + 1 or (counts < 0).any():
        raise ValueError(f"{counts.size} counts do not fit {edges.size} edges")
    if not (np.isfinite(counts.sum()) and np.isfinite(np.diff(edges)).all()):
        raise ValueError("counts and edges must be finite")
    if (np.diff(edges) < 0).any():
        raise ValueError("edges must rise")
    if not counts.sum():
        return {}
    below = np.concatenate([[0.0], np.cumsum(counts)])
    return _named(np.interp(np.array([*QUANTILES.values()]) / 100 * below[-1], below, edges))


def _named(quantiles: Any) -> dict[str, float]:
    return dict(zip(QUANTILES, map(float, quantiles), strict=True))
