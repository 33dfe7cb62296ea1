"""Runs `pip install` and says which package it is at, the same on a terminal and in a log.

    python tools/installing.py PYTHON ARGUMENT ...

A line for each package, and one every few seconds while a single one takes long. Ends with pip's
exit code, after pip's own last lines where that is not 0.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

SAY_AGAIN_S = 5.0
LOOK_AGAIN_S = 0.5
MOST_LINES = 30  # of what pip said before it failed
OPTIONS = ("--no-input", "--disable-pip-version-check", "--root-user-action=ignore",
           "--progress-bar=off")  # fmt: skip
# Of pip's own lines: a file that it fetches or builds, and what it is about to copy.
FETCHING = re.compile(r"^ *(Downloading|Using cached|Processing|Building wheels? for) (\S+)(.*)")
COPYING = re.compile(r"^Installing collected packages: (.*)")
WORTH_KNOWING = re.compile(r"^ *(ERROR|WARNING): (?!Location .* is ignored)")


class Installing:
    """Reports the progress of one run of pip."""

    def __init__(self, packages_folder: Path) -> None:
        self._folder = packages_folder
        self._start_s = self._said_s = time.monotonic()
        self._doing = "looking for packages"
        self._names: list[str] = []
        self._num_done = 0
        self._before = self._installed()

    def read(self, line: str) -> None:
        """A line of pip's."""
        if found := FETCHING.match(line):
            verb, path, rest = found.groups()
            name = path.rpartition("/")[2].removesuffix(".whl").removesuffix(".tar.gz")
            name = re.sub(r"-(py\d|cp\d|none|abi3).*", "", name)
            size = re.search(r"\(.*B\)", rest)
            self._say(f"{verb.lower()} {name} {size[0] if size else ''}".rstrip())
        elif found := COPYING.match(line):
            self._names = found[1].split(", ")
            self._say(f"installing {len(self._names)} packages")
        elif WORTH_KNOWING.match(line):
            print(line, flush=True)

    def tick(self) -> None:
        """Say what is new on the disk, and now and then that it goes on."""
        num_done = len(self._installed() - self._before)
        if num_done > self._num_done and num_done < len(self._names):
            self._num_done = num_done  # in the order that pip names them in
            name, total = self._names[num_done], len(self._names)
            self._say(f"installing {name}, {num_done + 1} of {total}")
        elif time.monotonic() - self._said_s >= SAY_AGAIN_S:
            self._say(f"still {self._doing}", keep=True)

    def end(self, exit_code: int) -> None:
        if exit_code == 0:
            self._say(f"{len(self._names)} packages installed")

    def _say(self, text: str, keep: bool = False) -> None:
        if not keep:
            self._doing = text
        self._said_s = time.monotonic()
        print(f"{self._said_s - self._start_s:5.0f}s  {text}", flush=True)

    def _installed(self) -> set[str]:
        """The folders of complete packages: pip writes INSTALLER after it compiled them."""
        return {path.parent.name for path in self._folder.glob("*.dist-info/INSTALLER")}


def lines_of(pip: subprocess.Popen[str], tick_s: float) -> Iterator[str | None]:
    """The lines that pip prints; None whenever it prints nothing for `tick_s`."""
    assert pip.stdout
    said: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        for line in pip.stdout or ():
            said.put(line.rstrip("\n"))
        said.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = said.get(timeout=tick_s)
        except queue.Empty:
            yield None
            continue
        if line is None:
            return
        yield line


def packages_folder(python: str) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    asked = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return Path(asked.stdout.strip())


def main(python: str, *arguments: str) -> int:
    installing = Installing(packages_folder(python))
    pip = subprocess.Popen(
        [python, "-m", "pip", "install", *OPTIONS, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    newest: deque[str] = deque(maxlen=MOST_LINES)
    for line in lines_of(pip, LOOK_AGAIN_S):
        if line is not None:
            newest.append(line)
            installing.read(line)
        installing.tick()
    exit_code = pip.wait()
    installing.end(exit_code)
    if exit_code:
        print("\n".join(newest), file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
