"""The files that a run keeps of logged media: `media/` in its folder."""

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
    """A file is not kept; the text says which limit it met."""


class MediaFolder:
    """Writes files below `folder`, each once, up to the limits above; what lies there already,
    as of a run that goes on, counts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._num_files: int | None = None
        self._num_bytes = 0

    def write(
        self, kind: str, name: str, step: int, ending: str, content: bytes, caption: str = ""
    ) -> Path:
        """Write `media/<kind>/<name>-<step><ending>`; a second one of the step is `...-<step>.1`.
        A caption is a file beside it, with the ending `.caption` after that.

        Raises NoRoomForMediaError beyond a limit, OSError for a disk.
        """
        self._check(len(content))
        folder = self._folder / clean(kind)
        for each in (self._folder, folder):
            make_private_folder(each, parents=False)
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
    """`name` as one part of a path: letters, digits and `_-.`, beginning with none of the last."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:MAX_NAME] or "unnamed"


def clean_ending(ending: str) -> str:
    """`ending` with its dot where it looks like one, else nothing."""
    return ending.lower() if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", ending) else ""
