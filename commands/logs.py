"""`operant logs`: the output of a run's process, and its events."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from ..shared.errors import UsageError
from ..shared.text.harmless import harmless
from .command import Command
from .helpers.choosing_a_run import chosen_run, run_argument

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run

LOOK_AGAIN_S = 0.2
_MOST_BYTES = 1 << 16  # read at once, because another program may write a line without end


@click.command("console", cls=Command)
@run_argument
@click.option("-f", "--follow", is_flag=True, help="Print what comes until the run has ended.")
@click.option("-n", "--lines", type=click.IntRange(0), metavar="N", help="Print the last N lines.")
@click.option("--events", is_flag=True, help="Print the run's events and alerts instead.")
@click.option("--rank", default=0, type=click.IntRange(0), help="With several ranks: whose lines.")
def command(run: str | None, follow: bool, lines: int | None, events: bool, rank: int) -> None:
    """Print what the process of a run printed, or its events.

    Default: the latest run. A time (UTC) is in front of each line. Secrets are masked. Of long
    output the last part is kept. `operant logs RUN > FILE` exports it. Events are checkpoints,
    evaluations, warnings and errors.
    """
    if events and (follow or rank):
        raise UsageError("--events prints the events so far: it excludes --follow and --rank")
    chosen = chosen_run(run)
    if events:
        _print_events(chosen, lines)
    else:
        _print_console(chosen, follow, lines, rank)


def _print_events(chosen: Run, num_lines: int | None) -> None:
    from ..monitor.runs.reading.run_poller import look_once
    from .helpers.output import print_events

    print_events(look_once(chosen), num_lines)


def _print_console(chosen: Run, follow: bool, lines: int | None, rank: int) -> None:
    from ..monitor.session.hang_up import waited_for_hang_up
    from ..shared.runs.status import read_status

    printed = _Printed(chosen, rank, lines)
    is_alive = read_status(chosen).is_alive
    if not printed.path.exists() and not (follow and is_alive):
        raise UsageError(
            f"{chosen.id} has no console{f' of rank {rank}' if rank else ''}: what it printed was "
            "not kept; `operant train`, `operant capture` and operant.init keep it"
        )
    while follow and is_alive:
        printed.print_new()
        if waited_for_hang_up([1], LOOK_AGAIN_S):
            return
        is_alive = read_status(chosen).is_alive
    printed.print_new(is_last=True)


class _Printed:
    """Prints the lines of a console once, also after the middle of the file was left out."""

    def __init__(self, run: Run, rank: int, num_lines: int | None) -> None:
        """With `num_lines`, print only that many last lines and those that follow."""
        self.path, self._num_lines = run.console_path(rank), num_lines
        self._inode = self._offset = 0  # of the file, and of the next line in it
        self._newest = b""  # the last line that was printed

    def print_new(self, is_last: bool = False) -> None:
        """Print new complete lines; if `is_last`, also an incomplete one."""
        from ..shared.runs.small_file import open_regular

        try:
            file = os.fdopen(open_regular(self.path, self.path.parent), "rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"cannot read {self.path}: {error.strerror}") from None
        with file:
            file.seek(self._place_in(file))
            while line := file.readline(_MOST_BYTES):
                if not (is_last or line.endswith(b"\n") or len(line) == _MOST_BYTES):
                    break
                self._offset, self._newest = file.tell(), line
                text = line.decode("utf-8", "replace").rstrip("\n")
                click.echo(harmless(text.expandtabs(4)).rstrip())
        sys.stdout.flush()

    def _place_in(self, file: BinaryIO) -> int:
        """The offset of the next line in the file as it is now."""
        from ..shared.console.console_file import LAST_BYTES

        status = os.fstat(file.fileno())
        is_first = not self._inode
        is_same = status.st_ino == self._inode and status.st_size >= self._offset
        self._inode = status.st_ino
        if is_same or (is_first and self._num_lines is None):
            return self._offset
        file.seek(max(0, status.st_size - LAST_BYTES))
        last = file.read()
        if is_first:
            place = len(last.rstrip())
            for _ in range(self._num_lines or 0):
                place = max(0, last.rfind(b"\n", 0, place))
            return file.tell() - len(last) + (place + 1 if place else 0)
        return file.tell() - len(last) + max(0, last.rfind(self._newest)) + len(self._newest)
