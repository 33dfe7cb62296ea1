"""Lists and reads the files in `media/` and `episodes/` of a run's folder.

Anyone may have written them: all reading is bounded, and a file that cannot be drawn is one line.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import subprocess
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....shared.install_command import install_command
from ....shared.runs.run_folder import CAPTION, MAX_CAPTION, Run
from ....shared.runs.small_file import open_regular, read_small
from ....shared.text.harmless import one_line
from ...render.table import Table

if TYPE_CHECKING:  # loaded once there is a file to read: not before the first frame
    from ....shared.episodes.episode_file import RecordedEpisode
    from ...render.half_blocks import Pixels

    Content = Pixels | Table | RecordedEpisode | str

MAX_LISTED = 10_000  # files of one kind
MAX_MEGAPIXELS = 64  # of a picture before it is shrunk
LONGEST_SIDE = 2048  # pixels of what is kept of one
MAX_EPISODE_BYTES = 64 << 20  # unpacked
MAX_TABLE_BYTES, MAX_ROWS, MAX_COLUMNS = 16 << 20, 100_000, 256
FFMPEG_S = 10
_SETTLED_NS = 2 * 10**9  # a folder may change twice within one tick of its clock
# <name>[.<place in a list>]-<step>[.<how many had name and step before>][<ending>]
_FILE_NAME = re.compile(r"(.+?)(?:\.(\d{1,6}))?-(\d{8,18})(?:\.(\d{1,6}))?(?:\.[a-z0-9]{1,8})*")
_PICTURES, _TABLES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"), (".csv",)
_VIDEOS = (".mp4", ".webm", ".mkv", ".mov", ".avi")

_EPISODES = "episodes"


class MediaFile(NamedTuple):
    """A file of a `kind`, such as images, logged as `name` at a step."""

    kind: str
    name: str
    step: int
    path: Path
    num_bytes: int

    @property
    def is_episode(self) -> bool:
        """An episode that the trainer recorded: its step is an iteration."""
        return self.kind == _EPISODES

    @property
    def is_drawn(self) -> bool:
        return self.is_episode or self.path.suffix in (*_PICTURES, *_VIDEOS, *_TABLES)


class RecordedMedia:
    """The files of one run by kind, name and step; the same tuple comes until they change."""

    def __init__(self, run: Run) -> None:
        self._folder = run.folder
        self._known: dict[str, tuple[int, list[MediaFile]]] = {}  # by kind, with its folder's time
        self._files: tuple[MediaFile, ...] = ()

    def read(self) -> tuple[MediaFile, ...]:
        try:
            folders = [*_folders_in(self._folder / "media"), *_folders_in(self._folder, _EPISODES)]
            self._known = {entry.name: self._kind(entry) for entry in folders}
        except OSError:
            return self._files
        kinds = (self._known[kind][1] for kind in sorted(self._known))
        files = tuple(itertools.chain.from_iterable(kinds))
        if files != self._files:
            self._files = files
        return self._files

    def _kind(self, folder: os.DirEntry[str]) -> tuple[int, list[MediaFile]]:
        """When the folder changed, and its files, which are listed anew where it did."""
        changed_ns = folder.stat(follow_symlinks=False).st_mtime_ns
        known = self._known.get(folder.name)
        if known and known[0] == changed_ns < time.time_ns() - _SETTLED_NS:
            return known
        return changed_ns, _files_in(Path(folder))


def content_of(file: MediaFile) -> Content:
    """A picture [height, width, 3], the first frame of a video, a table or an episode; one line
    where the file cannot be drawn.
    """
    ending = file.path.suffix
    try:
        if file.is_episode:
            from ....shared.episodes.episode_file import read_episode

            return read_episode(file.path, file.path.parents[1], MAX_EPISODE_BYTES)
        descriptor = open_regular(file.path, file.path.parents[2])
        with os.fdopen(descriptor, "rb") as opened:
            if ending in _PICTURES:
                return _picture(opened)
            if ending in _VIDEOS:
                return _picture(io.BytesIO(_first_frame(descriptor)))
            if ending in _TABLES:
                return _table(opened.read(MAX_TABLE_BYTES + 1))
    except ModuleNotFoundError:
        return f"pictures and videos need packages: {install_command('media')}"
    except FileNotFoundError:
        return f"{file.path.name} is gone"
    except Exception as error:  # whatever the bytes make a decoder raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return f"{file.path.name} cannot be drawn: {one_line(reason, 200)}"
    return f"{ending or 'such'} files are not drawn: {file.path}"


def caption_of(file: MediaFile) -> str:
    """The caption of a picture or a video, as one line; empty without one."""
    path = file.path.with_name(file.path.name + CAPTION)
    try:
        text = read_small(path, 4 * MAX_CAPTION, path.parents[2])
    except OSError:
        return ""
    return one_line(text.decode("utf-8", "replace"), MAX_CAPTION)


def _folders_in(folder: Path, name: str = "") -> list[os.DirEntry[str]]:
    """All folders there, or that of the `name`, none of them a link."""
    try:
        with os.scandir(folder) as entries:
            folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
            return [folder for folder in folders if name in ("", folder.name)]
    except FileNotFoundError:
        return []


def _files_in(folder: Path) -> list[MediaFile]:
    """The media files of `folder`, by name, step, repeat and place."""
    found = []
    with os.scandir(folder) as entries:
        for entry in itertools.islice(entries, MAX_LISTED):
            match = _FILE_NAME.fullmatch(entry.name)
            is_caption = entry.name.endswith(CAPTION)
            if match and not is_caption and entry.is_file(follow_symlinks=False):
                name, place, step, repeat = match.groups()
                size = entry.stat(follow_symlinks=False).st_size
                file = MediaFile(folder.name, name, int(step), folder / entry.name, size)
                found.append((name, int(step), int(repeat or 0), int(place or 0), file))
    return [file for *_, file in sorted(found)]


def _picture(file: Any) -> Pixels:
    """Raises ModuleNotFoundError without Pillow, and whatever Pillow raises."""
    from PIL import Image, UnidentifiedImageError

    # What is too large is one line, and nothing on standard error, where the screen is.
    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    try:
        # Not all that Pillow knows: some of it calls other programs.
        image: Image.Image = Image.open(file, formats=("PNG", "JPEG", "GIF", "WEBP", "BMP"))
    except UnidentifiedImageError:
        raise ValueError("it is no picture") from None
    megapixels = image.width * image.height / 1e6
    if megapixels > MAX_MEGAPIXELS:
        raise ValueError(f"{megapixels:.0f} megapixels are more than {MAX_MEGAPIXELS}")
    if image.mode.startswith("I"):  # 16 bits, of which Pillow would keep the lower ones
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = image.convert("RGB")
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return np.asarray(image)


def _first_frame(descriptor: int) -> bytes:
    """A PNG file. Raises ModuleNotFoundError without imageio, and ValueError with the error of
    ffmpeg.
    """
    from imageio_ffmpeg import get_ffmpeg_exe

    command = [
        get_ffmpeg_exe(), "-v", "error", "-nostdin", "-protocol_whitelist", "file,pipe",
        "-i", f"/dev/fd/{descriptor}", "-frames:v", "1",
        "-vf", f"scale='min({LONGEST_SIDE},iw)':-2", "-f", "image2pipe", "-c:v", "png", "-",
    ]  # fmt: skip
    done = subprocess.run(command, pass_fds=[descriptor], capture_output=True, timeout=FFMPEG_S)
    if not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ValueError(said[-1] if said else f"ffmpeg ended with code {done.returncode}")
    return done.stdout


def _table(data: bytes) -> Table:
    """Raises ValueError or csv.Error where it is no table."""
    import csv

    is_cut = len(data) > MAX_TABLE_BYTES
    if is_cut:
        data = data.rpartition(b"\n")[0]
    lines = csv.reader(io.StringIO(data.decode("utf-8", "replace"), newline=""))
    columns = next(lines, [])[:MAX_COLUMNS]
    if not columns:
        raise ValueError("it is empty")
    rows = [row[:MAX_COLUMNS] for row in itertools.islice(lines, MAX_ROWS)]
    return Table(columns, rows, not is_cut and next(lines, None) is None)
