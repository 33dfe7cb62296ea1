"""Artifacts, and the files of `save`: copied into `files/` in the run's folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ..runs.owners import make_private_folder
from ..text.plain_values import text_of
from .accepted import Accepted, stand_in
from .media_folder import clean

MAX_FILE_BYTES = 1 << 30
MAX_FILES = 10_000


class Artifact:
    """Files and folders under a name, in the shape of wandb's. `log_artifact` copies them."""

    def __init__(self, name: Any = "artifact", type: Any = "", *_: Any, **__: Any) -> None:
        self.name, self.type = text_of(name), text_of(type)
        self.files: dict[str, Path] = {}  # the path by the name in the artifact

    def add_file(self, local_path: Any, name: str | None = None, **_: Any) -> None:
        path = Path(local_path)
        self.files[name or path.name] = path

    def add_dir(self, local_path: Any, name: str | None = None, **_: Any) -> None:
        """Add all files below a folder; links to folders are not followed. Raises ValueError for
        more than 10,000.
        """
        for folder, _folders, files in os.walk(local_path):
            for path in (Path(folder, file) for file in files):
                self.add_file(path, str(Path(name or "", path.relative_to(local_path))))
                if len(self.files) > MAX_FILES:
                    raise ValueError(f"{local_path} has more than {MAX_FILES:,} files")

    def __getattr__(self, name: str) -> Accepted:
        return stand_in("Artifact", name, dir(type(self)))


def copy_file(path: Path, run_folder: Path, name: str) -> None:
    """Copy a regular file to `files/<name>` in a run's folder; `name` may have folders. Replaces an
    earlier copy. Raises ValueError or OSError.
    """
    if not path.is_file():
        raise ValueError(f"{path} is not a regular file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"{path} has more than {MAX_FILE_BYTES >> 30} GiB")
    folder = run_folder / "files"
    make_private_folder(folder, parents=False)
    *folders, last = (clean(part) for part in Path(name).parts)
    for part in folders:
        folder /= part
        make_private_folder(folder, parents=False)
    with tempfile.TemporaryDirectory(dir=folder) as building:
        copied = shutil.copyfile(path, Path(building, last))
        os.replace(copied, folder / last)
