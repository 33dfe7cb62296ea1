"""Ranks that this process starts, watches until they meet, and ends; it is rank 0 itself."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace

from ...monitor.runs.reading.file_tail import FileTail
from ...shared.console.capture import NOWHERE, Keeper
from ...shared.console.console_file import without_time
from ...shared.errors import OperantError
from ...shared.processes.python_program import python_program
from ...shared.processes.ssh import SHELL_NOT_FOUND, SSH_NOT_REACHED
from ...shared.runs.run_folder import Run
from ...shared.text.harmless import harmless, one_line
from ...trainer.running.process import FirstRank, Prepared
from ...trainer.running.signals import STOP_SIGNALS, Requests
from ..helpers.launching import Reporting, train_here
from .launch import Launch, Member
from .rank_process import kill_with_children, rank_command, task

WAIT_S = 5.0  # time for the other ranks to end in good order; all end together
WAIT_AFTER_FAILURE_S = 0.5  # the other ranks have noticed the failure, or caused it
END_WITHIN_S = 0.5  # killing ssh closes its connection as well
LOOK_AGAIN_S = 0.02
CONSOLE_LINES = 15


class LaunchError(OperantError):
    """A rank ended before it had met the others."""


class StartedRank:
    """The process of a rank: operant on this machine, or the ssh that connects to it. A rank ends
    when its standard input is closed, also by the end of this process.
    """

    def __init__(self, member: Member, split: str, run: Run) -> None:
        self.rank = member.place.rank
        self.node = member.node
        self.console_path = run.console_path(self.rank)
        self._lines = FileTail(self.console_path)
        self._num_old_lines = len(self._lines.read())
        self._keeper: Keeper | None = None  # training does not need one
        self.is_ended_by_us = False
        # Rank 0 sends the configuration when they meet.
        first_line = task("train", place=asdict(member.place), split=split)
        self._process, self._why_not = self._started(first_line)

    def _started(self, first_line: bytes) -> tuple[subprocess.Popen[bytes] | None, str]:
        source, target = os.pipe()
        try:
            if python_program():
                self._keeper = Keeper(self.console_path, {source: NOWHERE})
            output = target if self._keeper else subprocess.DEVNULL
            process = subprocess.Popen(
                rank_command(self.node),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,  # ctrl-c is for rank 0, which stops the others
            )
        except OSError as error:
            return None, f"it cannot be started, {error.strerror}"
        finally:
            os.close(source)
            os.close(target)
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has ended: see `why_ended`
            process.stdin.write(first_line)
            process.stdin.flush()
        return process, ""

    @property
    def named(self) -> str:
        return f"rank {self.rank} ({self.node.name})"

    @property
    def exit_code(self) -> int | None:
        """The exit code, as in `Popen.returncode`; None while the process runs."""
        return self._process.poll() if self._process else 1

    def said(self) -> list[str]:
        """The last lines that it printed since it was started, after its end."""
        if self._keeper:
            self._keeper.wait()
        lines = self._lines.read()[self._num_old_lines :]
        return [without_time(line) for line in lines[-CONSOLE_LINES:]]

    def why_ended(self) -> str:
        """Why the rank ended, in a few words."""
        if self._why_not:
            return self._why_not
        code = self.exit_code or 0
        last = next((one_line(line, 300) for line in reversed(self.said()) if line.strip()), "")
        last = last.removeprefix("operant: ").removeprefix(f"rank {self.rank}: ")
        if code < 0:
            return f"{signal.Signals(-code).name} ended it"
        if not self.node.is_here and code == SSH_NOT_REACHED:
            return f"its connection is lost, {last or 'ssh failed'}"
        if not self.node.is_here and code == SHELL_NOT_FOUND:
            return f"there is no operant, {last}"
        return last or f"exit code {code}"

    def tells_more(self) -> bool:
        """Whether its console has more than the line that rank 0 shows anyway."""
        failed = self.exit_code not in (None, 0) and not self.is_ended_by_us
        return failed and any(
            line.strip() and not line.startswith(f"operant: rank {self.rank}:")
            for line in self.said()
        )

    def hang_up(self) -> None:
        """Close its standard input, which ends it."""
        if self._process and self._process.stdin:
            self.is_ended_by_us |= self.exit_code is None
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def end(self, deadline: float) -> None:
        """Wait for it until `deadline`, a `time.monotonic`; then it is killed."""
        if self._process:
            try:
                self._process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                kill_with_children(self._process)


class Launched:
    """All ranks of a `launch` except rank 0, which is this process at its `place`."""

    def __init__(self, launch: Launch, run: Run) -> None:
        first, *others = launch.members()
        assert launch.listener
        self.place = replace(first.place, listen_fd=launch.listener.detach())
        self._ranks: list[StartedRank] = []
        try:
            for member in others:
                self._ranks.append(StartedRank(member, launch.split, run))
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """Raises LaunchError where a rank ended before all had met."""
        for rank in self._ranks:
            if rank.exit_code is not None:
                raise LaunchError(
                    f"{rank.named} ended before the ranks had met: {rank.why_ended()}"
                )

    def wait(self, exit_code: int) -> None:
        """Rank 0 ended with this exit code: wait for the others to end by themselves."""
        is_orderly = exit_code in (0, *(128 + number for number in STOP_SIGNALS))
        deadline = time.monotonic() + (WAIT_S if is_orderly else WAIT_AFTER_FAILURE_S)
        while time.monotonic() < deadline and any(r.exit_code is None for r in self._ranks):
            time.sleep(LOOK_AGAIN_S)

    def close(self) -> None:
        """End all ranks that still run."""
        for rank in self._ranks:
            rank.hang_up()
        deadline = time.monotonic() + END_WITHIN_S
        for rank in self._ranks:
            rank.end(deadline)

    def show_failures(self) -> None:
        """Print what failed ranks printed and rank 0 does not show, to standard error."""
        for rank in self._ranks:
            if rank.tells_more():
                with contextlib.suppress(OSError):  # the terminal may have gone
                    print(f"operant: {rank.named}, {rank.console_path} ends:", file=sys.stderr)
                    for line in rank.said():
                        print(f"  {harmless(line)}", file=sys.stderr)


def train_with_ranks(
    launch: Launch, prepared: Prepared, requests: Requests, reporting: Reporting
) -> int:
    """Train as rank 0 with the ranks of `launch`, all of which end before this returns. Returns the
    exit code. The consoles of failed ranks are printed when `reporting` has ended.
    """
    others = Launched(launch, prepared.run)
    try:
        first = FirstRank(others.place, launch.split, others.check)
        exit_code = train_here(prepared, requests, reporting, first)
        others.wait(exit_code)
    finally:
        others.close()
        others.show_failures()
    return exit_code
