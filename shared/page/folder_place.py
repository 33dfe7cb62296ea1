"""Where a page's run has its folder: whoever finds the page later can tell what became of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .layout import FOLDER


@dataclass(frozen=True)
class FolderPlace:
    """The run's folder, and device and inode of the folder around it: two containers may have
    different folders of one name.
    """

    path: Path
    home_device: int
    home_inode: int

    @classmethod
    def of(cls, folder: Path) -> FolderPlace | None:
        """None if it is unknown or too long for a page."""
        path = Path(os.path.abspath(folder))
        try:
            around = path.parent.stat()
        except OSError:
            return None
        place = cls(path, around.st_dev, around.st_ino)
        return place if cls.decode(place.encode()) == place else None

    def encode(self) -> bytes:
        return FOLDER.pack(self.home_device, self.home_inode, os.fsencode(self.path))

    @classmethod
    def decode(cls, data: bytes) -> FolderPlace | None:
        device, inode, path = FOLDER.unpack(data)
        path = path.split(b"\0", 1)[0]
        return cls(Path(os.fsdecode(path)), device, inode) if path else None

    def is_same_home(self) -> bool:
        """Whether the folder around the run's is here, and the same."""
        try:
            around = self.path.parent.stat()
        except OSError:
            return False
        return (around.st_dev, around.st_ino) == (self.home_device, self.home_inode)
