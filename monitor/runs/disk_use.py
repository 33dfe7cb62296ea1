"""How full the file system of a folder is, and what its device reads and writes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from .machine import DiskSample

_SECTOR_BYTES = 512  # in these files, whatever the device's own are
_READ, _WRITTEN = 2, 6  # sectors, among the words of a device's `stat`


class DiskUse:
    """Samples the file system that holds `folder`; rates are since the sample before."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._now = folder, now
        self._stat_path = _stat_path(folder)
        self._before: tuple[float, int, int] | None = None

    def sample(self) -> DiskSample | None:
        """None where the folder cannot be reached."""
        try:
            space = os.statvfs(self._folder)
        except OSError:
            return None
        free, total = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
        moved = self._moved_bytes()
        before, self._before = self._before, None
        if moved is None:
            return DiskSample(free, total, is_run_alone=True)
        now_s = self._now()
        self._before = (now_s, *moved)
        if before is None or now_s <= before[0]:
            return DiskSample(free, total)
        seconds = now_s - before[0]
        return DiskSample(
            free,
            total,
            max(0, moved[0] - before[1]) / seconds,
            max(0, moved[1] - before[2]) / seconds,
        )

    def _moved_bytes(self) -> tuple[int, int] | None:
        """What the device has read and written by now."""
        if self._stat_path is None:
            return None
        try:
            words = self._stat_path.read_text().split()
            return int(words[_READ]) * _SECTOR_BYTES, int(words[_WRITTEN]) * _SECTOR_BYTES
        except (OSError, ValueError, IndexError):
            return None


def _stat_path(folder: Path) -> Path | None:
    """Where the kernel counts for the device of `folder`; None where the file system has none of
    its own, as in memory, over the network, or laid over others.
    """
    try:
        device = os.stat(folder).st_dev
    except OSError:
        return None
    for number in (device, _mounted_device(device)):
        if number:
            path = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat")
            if path.exists():
                return path
    return None


def _mounted_device(device: int) -> int | None:
    """The block device behind a file system that has a number of its own, as Btrfs has."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            mount, _, source = line.partition(" - ")
            if mount.split()[2] == wanted and source.split()[1].startswith("/dev/"):
                return os.stat(source.split()[1]).st_rdev
    except (OSError, IndexError):
        pass
    return None
