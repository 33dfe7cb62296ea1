"""The files of logged media: `media/` in a run's folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..runs.owners import make_private_folder
from ..runs.run_folder import CAPTION, MAX_CAPTION
from ..runs.small_file import write_whole

MAX_FILE_BYTES = 16 << 20
MAX_FOLDER_BYTES = 256 << 20
MAX_FILES = 2000
MAX_NAME = 80  # characters, so that step and ending still fit any file system


class NoRoomForMediaError(Exception):
    """A file is not written; the text names the limit that it exceeds."""


class MediaFolder:
    """Writes files below `folder`, up to the limits above. Existing files, such as those of a
    resumed run, count.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._num_files: int | None = None
        self._num_bytes = 0

    def write(
        self, kind: str, name: str, step: int, ending: str, content: bytes, caption: str = ""
    ) -> Path:
        """Write `media/<kind>/<name>-<step><ending>`; a second file of the step is `...-<step>.1`.
        A caption is a file beside it, with `.caption` appended to its name.

        Raises NoRoomForMediaError beyond a limit, and OSError.
        """
        self._check(len(content))
        folder = self._folder / clean(kind)
        make_private_folder(self._folder, parents=False)
        make_private_folder(folder, parents=False)
        stem = f"{clean(name)}-{max(step, 0):08d}"
        for number in range(MAX_FILES):
            path = folder / f"{stem}{f'.{number}' if number else ''}{clean_ending(ending)}"
            try:
                # Never through a link, and never over another file.
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                continue
            with open(descriptor, "wb") as file:
                if caption:
                    text = caption[:MAX_CAPTION].encode("utf-8", "replace")
                    write_whole(Path(f"{path}{CAPTION}"), text, outlives_power_cut=False)
                file.write(content)
            self._num_files = (self._num_files or 0) + 1
            self._num_bytes += len(content)
            return path
        raise NoRoomForMediaError(f"{MAX_FILES} files of one name and step")

    def _check(self, num_bytes: int) -> None:
        if self._num_files is None:
            files = [path for path in self._folder.rglob("*") if path.is_file()]
            sizes = [path.stat().st_size for path in files if path.suffix != CAPTION]
            self._num_files, self._num_bytes = len(sizes), sum(sizes)
        if num_bytes > MAX_FILE_BYTES:
            raise NoRoomForMediaError(
                f"{num_bytes} bytes are more than {MAX_FILE_BYTES >> 20} MiB, the limit of a file"
            )
        if self._num_files >= MAX_FILES:
            raise NoRoomForMediaError(f"a run keeps {MAX_FILES} files")
        if self._num_bytes + num_bytes > MAX_FOLDER_BYTES:
            raise NoRoomForMediaError(f"a run keeps {MAX_FOLDER_BYTES >> 20} MiB of them")


def clean(name: str) -> str:
    """`name` as one part of a path: letters, digits and `_-.`, with a letter or digit first."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:MAX_NAME] or "unnamed"


def clean_ending(ending: str) -> str:
    """`ending` in lower case, with its dot; empty if it is not valid."""
    return ending.lower() if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", ending) else ""
