"""What becomes of a logged value that is no number: a file in `media/`, or a few metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import quantiles
from .media import Image, Media, Plotly, media_in
from .media_folder import MediaFolder, NoRoomForMediaError
from .pictures import array_of
from .tables import Table


class KeptObjects:
    """Keeps the objects of one run, below `folder`."""

    def __init__(self, folder: Path, warn: Callable[[str, str], None]) -> None:
        """`warn(key, text)` says a text once for a key."""
        self._media = MediaFolder(folder / "media")
        self._warn = warn

    def take(self, name: str, value: Any, step: int) -> Mapping[str, float]:
        """Keep `value`, logged as `name` at `step`. Returns the metrics that it gives, by their
        full names; what cannot be kept is warned of once a name.
        """
        try:
            parts = list(_as_media(name, value))
            return self._kept(parts, step) if parts else self._distribution(name, value)
        except Exception as error:  # whatever a foreign object raises
            self._warn(f"keep {name}", f"'{name}' is not kept: {type(error).__name__}: {error}")
            return {}

    def _kept(self, parts: list[tuple[str, Media]], step: int) -> dict[str, float]:
        """Write the files of all `parts`; return their numbers."""
        numbers: dict[str, float] = {}
        for name, media in parts:
            try:
                media.write(name, lambda *file, kind=media.kind: self._write(kind, step, *file))
                numbers |= {f"{name}/{key}": number for key, number in media.numbers().items()}
            except NoRoomForMediaError as error:
                self._warn("media room", f"'{name}' and more are not kept: {error}")
            except Exception as error:  # whatever a foreign object or a disk raises
                self._warn(f"keep {name}", f"'{name}' is not kept: {error}")
        return numbers

    def _write(self, kind: str, step: int, name: str, ending: str, content: bytes) -> Path:
        return self._media.write(kind, name, step, ending, content)

    def _distribution(self, name: str, value: Any) -> dict[str, float]:
        """The quantiles of an array, a tensor or a list of numbers."""
        try:
            values = array_of(value)
            if values.ndim or not quantiles.finite(values).size:  # a single masked one is nothing
                found = quantiles.names_and_values(values)
                return {f"{name}/{key}": number for key, number in found.items()}
        except Exception:
            pass
        self._warn(
            name, f"'{name}' is no number, but of type {type(value).__name__}: it is not kept"
        )
        return {}


def _as_media(name: str, value: Any) -> Iterator[tuple[str, Media]]:
    """`value` as the media that it is or stands for, each under its name."""
    if isinstance(value, Media):
        yield name, value
    elif hasattr(value, "savefig"):
        yield name, Image(value)
    elif hasattr(value, "to_html") and hasattr(value, "to_plotly_json"):
        yield name, Plotly(value)
    elif hasattr(value, "itertuples") and hasattr(value, "columns"):
        yield name, Table(dataframe=value)
    else:
        for number, media in enumerate(media_in(value)):
            yield f"{name}.{number}", media
