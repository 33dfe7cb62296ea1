"""Images, tables, sounds and the like, in the shapes of wandb's classes: kept as files."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import wave
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..text.plain_values import text_of
from . import quantiles
from .accepted import Accepted, accepted_method, say_accepted, unknown_keywords
from .media_folder import MAX_FILE_BYTES
from .pictures import array_of, picture_bytes, video_bytes
from .wandb_names import MEDIA

# Writes one file: what it shows, its ending, its bytes.
WriteFile = Callable[[str, str, bytes], Any]


class Media:
    """Something that is kept as files; of a kind that says nothing else, as what it was made of."""

    kind = "files"
    ending = ".bin"
    may_be_path = True

    def __init__(self, data: Any = None, *_: Any, caption: Any = None, **keywords: Any) -> None:
        self.data, self.caption = data, caption
        self.keywords = keywords

    def numbers(self) -> Mapping[str, float]:
        """What becomes metrics, below the name that it is logged under."""
        return {}

    def write(self, name: str, write_file: WriteFile) -> None:
        """Write the files. Raises ValueError or OSError for what cannot be one."""
        if self.may_be_path and is_path(self.data):
            write_file(name, Path(self.data).suffix, file_bytes(self.data))
        elif hasattr(self.data, "read"):
            content = self.data.read(MAX_FILE_BYTES + 1)
            ending = Path(str(getattr(self.data, "name", ""))).suffix or self.ending
            write_file(name, ending, content.encode() if isinstance(content, str) else content)
        elif isinstance(self.data, bytes):
            write_file(name, self.ending, self.data)
        else:
            write_file(name, *self.encoded())

    def encoded(self) -> tuple[str, bytes]:
        """Ending and bytes of data that is neither a path nor a file."""
        raise ValueError(f"a {type(self.data).__name__} cannot be kept as a file")

    def __getattr__(self, name: str) -> Any:
        if name not in MEDIA:
            raise AttributeError(f"{type(self).__name__} has no '{name}'")
        return Accepted(f"{type(self).__name__}.{name}")


class Image(Media):
    """A picture: a path, an array or tensor, a PIL image or a matplotlib figure."""

    kind, ending = "images", ".png"

    def encoded(self) -> tuple[str, bytes]:
        picture = self.data.data if isinstance(self.data, Image) else self.data
        return ".png", picture_bytes(picture, self.keywords.get("channels_first"))


class Video(Media):
    """A path, an open file, or frames [time, channels, height, width]: an animated PNG."""

    kind, ending = "videos", ".mp4"

    def encoded(self) -> tuple[str, bytes]:
        return ".png", video_bytes(self.data, float(self.keywords.get("fps") or 4))


class Audio(Media):
    """A path, or samples [time] of -1 to 1 with their `sample_rate`: a WAV file."""

    kind, ending = "audio", ".wav"

    def encoded(self) -> tuple[str, bytes]:
        return ".wav", wav_bytes(self.data, int(self.keywords.get("sample_rate") or 44100))


class Html(Media):
    """A text, an open file or the path of one."""

    kind, ending = "html", ".html"

    def encoded(self) -> tuple[str, bytes]:
        return ".html", text_of(self.data).encode("utf-8", "replace")


class Text(Media):
    """A text of several lines, as Markdown; one of a single line is an event instead."""

    kind, ending = "texts", ".md"
    may_be_path = False

    def encoded(self) -> tuple[str, bytes]:
        return ".md", text_of(self.data).encode("utf-8", "replace")


class Object3D(Media):
    """Points [N, 3 or more] as CSV, a scene as JSON, or a file."""

    kind, ending = "objects", ".json"

    def encoded(self) -> tuple[str, bytes]:
        if isinstance(self.data, Mapping):
            return ".json", json.dumps(self.data, default=_listed).encode()
        points = array_of(self.data)
        if points.ndim != 2:
            raise ValueError(f"points have the shape [N, 3 or more], not {points.shape}")
        return ".csv", "\n".join(",".join(map(str, row)) for row in points.tolist()).encode()

    @classmethod
    def from_numpy(cls, data: Any, **keywords: Any) -> Object3D:
        return cls(data, **keywords)

    @classmethod
    def from_file(cls, data_or_path: Any, file_type: str | None = None) -> Object3D:
        return cls(data_or_path)

    @classmethod
    def from_point_cloud(cls, points: Any, boxes: Any, vectors: Any = None, **_: Any) -> Object3D:
        return cls({"points": points, "boxes": boxes, "vectors": vectors or []})


class Molecule(Media):
    """A path, an open file or a text, such as SMILES."""

    kind, ending = "molecules", ".txt"

    def encoded(self) -> tuple[str, bytes]:
        return ".txt", text_of(self.data).encode("utf-8", "replace")

    @classmethod
    def from_smiles(cls, data: Any, **keywords: Any) -> Molecule:
        return cls(text_of(data).encode(), **keywords)

    @classmethod
    def from_rdkit(cls, data_or_path: Any, **keywords: Any) -> Molecule:
        return cls(data_or_path, **keywords)


class Plotly(Media):
    """A figure of plotly as a page, or one of matplotlib as a picture."""

    kind, ending = "plots", ".html"

    def encoded(self) -> tuple[str, bytes]:
        if hasattr(self.data, "to_html"):
            return ".html", self.data.to_html(include_plotlyjs="cdn").encode()
        return ".png", picture_bytes(getattr(self.data, "figure", None) or self.data)


class Histogram(Media):
    """Values, or counts and edges: kept as quantiles, among the metrics."""

    def __init__(
        self, sequence: Any = None, np_histogram: Any = None, num_bins: Any = 64, *_: Any,
        **keywords: Any,
    ) -> None:  # fmt: skip
        super().__init__(sequence, **keywords)
        self.np_histogram, self.num_bins = np_histogram, num_bins

    @property
    def histogram(self) -> list[float]:
        """How many values there are in each bin."""
        return self._counts_and_edges()[0]

    @property
    def bins(self) -> list[float]:
        """The edges of the bins, one more than there are bins."""
        return self._counts_and_edges()[1]

    def _counts_and_edges(self) -> tuple[list[float], list[float]]:
        """Both empty where there are none to be had."""
        import numpy as np

        with contextlib.suppress(Exception):  # whatever a foreign object raises
            found = self.np_histogram
            if found is None:
                found = np.histogram(quantiles.finite(array_of(self.data)), bins=self.num_bins)
            counts, edges = (np.asarray(each).tolist() for each in found[:2])
            return counts, edges
        return [], []

    def numbers(self) -> Mapping[str, float]:
        if self.np_histogram is not None:
            counts, edges = self.np_histogram[:2]
            return quantiles.of_buckets(counts, edges)
        return quantiles.names_and_values(array_of(self.data))

    def write(self, name: str, write_file: WriteFile) -> None:
        """There is no file: the metrics are all."""


class Graph(Media):
    """A graph of a model; not kept."""

    add_node = accepted_method("add_node", "Graph.")
    add_edge = accepted_method("add_edge", "Graph.")

    def write(self, name: str, write_file: WriteFile) -> None:
        say_accepted("Graph")

    @classmethod
    def from_keras(cls, *_: Any, **__: Any) -> Graph:
        return cls()


class Classes(Media):
    """What labels of pictures mean; not kept."""

    def __init__(self, class_set: Any = (), **keywords: Any) -> None:
        super().__init__(class_set)
        unknown_keywords("Classes", keywords)


def is_path(data: Any) -> bool:
    """Whether `data` names a file that is there; a short text may be just that, a text."""
    if isinstance(data, os.PathLike):
        return True
    if not isinstance(data, str) or len(data) > 4096 or "\n" in data or "\0" in data:
        return False
    return os.path.isfile(data)


def file_bytes(path: Any) -> bytes:
    """All of a plain file, unless it is larger than what a run keeps of one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe without a writer would wait
    with open(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ValueError(f"{path} is not a regular file")
        if about.st_size > MAX_FILE_BYTES:
            raise ValueError(f"{path} has more than {MAX_FILE_BYTES >> 20} MiB")
        return file.read(MAX_FILE_BYTES + 1)


def wav_bytes(samples: Any, sample_rate: int) -> bytes:
    """`samples` [time] or [time, channels], of -1 to 1 or int16, as a WAV file of 16 bits."""
    import numpy as np

    values = np.atleast_2d(array_of(samples).T).T  # [time, channels]
    if values.dtype.kind == "f":
        values = np.clip(np.nan_to_num(values), -1, 1) * 32767
    into = io.BytesIO()
    with wave.open(into, "wb") as file:
        file.setnchannels(values.shape[1])
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(values.astype("<i2").tobytes())
    return into.getvalue()


def media_in(values: Any) -> Iterator[Media]:
    """The media of a list of nothing else, else nothing."""
    if isinstance(values, list | tuple) and values and all(isinstance(v, Media) for v in values):
        yield from values


def _listed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else text_of(value)
