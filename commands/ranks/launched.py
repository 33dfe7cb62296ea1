"""Ranks that this process has started, rank 0 itself: watched until they meet, ended with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import IO

from ...monitor.runs.log_tail import LogTail
from ...shared.errors import OperantError
from ...shared.harmless import harmless, one_line
from ...shared.run_folder import Run
from ...shared.small_file import open_to_append
from ...shared.ssh import SHELL_NOT_FOUND, SSH_NOT_REACHED
from ...trainer.ranks.place import Place
from ...trainer.run.signals import STOP_SIGNALS
from .launch import Launch, Member
from .messages import task
from .reaching import kill_with_children, rank_command

PATIENCE_S = 5.0  # of an end in good order: ranks leave together
SHORT_PATIENCE_S = 0.5  # where the run failed: they know, or are what it failed of
END_WITHIN_S = 0.5  # ssh that is killed closes its connection as well
LOOK_AGAIN_S = 0.02
LOG_LINES = 15


class LaunchError(OperantError):
    """A rank ended before it had met the others."""


class StartedRank:
    """A rank as a process: operant's own here, or the ssh that it hangs on. It ends once its
    standard input is closed, as it is when this process is gone.
    """

    def __init__(self, member: Member, split: str, run: Run) -> None:
        self.rank = member.place.rank
        self.node = member.node
        self.log_path = run.rank_log_path(self.rank)
        self._log = LogTail(self.log_path)
        self._num_old_lines = len(self._log.read())
        self.is_ended_by_us = False
        self._process, self._why_not = self._started(task_of(member, split))

    def _started(self, first_line: bytes) -> tuple[subprocess.Popen[bytes] | None, str]:
        with _opened_log(self) as log:
            try:
                process = subprocess.Popen(
                    rank_command(self.node),
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # ctrl-c is for rank 0, who tells the others
                )
            except OSError as error:
                return None, f"it cannot be started, {error.strerror}"
        assert process.stdin
        with contextlib.suppress(BrokenPipeError):  # it has ended; `why_ended` tells of what
            process.stdin.write(first_line)
            process.stdin.flush()
        return process, ""

    @property
    def named(self) -> str:
        return f"rank {self.rank} ({self.node.name})"

    @property
    def exit_code(self) -> int | None:
        """As of `Popen`; None while it lives."""
        return self._process.poll() if self._process else 1

    def said(self) -> list[str]:
        """The last lines that it wrote since it was started."""
        return list(self._log.read()[self._num_old_lines :])[-LOG_LINES:]

    def why_ended(self) -> str:
        """In a few words, for one that is no more."""
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
        """Whether its log has more of a failure than the line that rank 0 says as well."""
        failed = self.exit_code not in (None, 0) and not self.is_ended_by_us
        return failed and any(
            line.strip() and not line.startswith(f"operant: rank {self.rank}:")
            for line in self.said()
        )

    def hang_up(self) -> None:
        """Let it end."""
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
    """All ranks but this process itself, which is rank 0 at its `place`; without a `launch` there
    are none.
    """

    def __init__(self, launch: Launch | None, run: Run) -> None:
        self.place: Place | None = None
        self._ranks: list[StartedRank] = []
        if launch is None:
            return
        if launch.world_size == 1:  # all others are left out, and nobody is met
            if launch.listener:
                launch.listener.close()
            return
        first, *others = launch.members()
        assert launch.listener
        self.place = replace(first.place, listen_fd=launch.listener.detach())
        try:
            for member in others:
                self._ranks.append(StartedRank(member, launch.split, run))
        except BaseException:
            self.close()
            raise

    def check(self) -> None:
        """While the ranks have not met: raises LaunchError where one has ended."""
        for rank in self._ranks:
            if rank.exit_code is not None:
                raise LaunchError(
                    f"{rank.named} ended before the ranks had met: {rank.why_ended()}"
                )

    def wait(self, exit_code: int) -> None:
        """Rank 0 ended with this code: give the others the time that takes them."""
        is_orderly = exit_code in (0, *(128 + number for number in STOP_SIGNALS))
        deadline = time.monotonic() + (PATIENCE_S if is_orderly else SHORT_PATIENCE_S)
        while time.monotonic() < deadline and any(r.exit_code is None for r in self._ranks):
            time.sleep(LOOK_AGAIN_S)

    def close(self) -> None:
        """End all that still live."""
        for rank in self._ranks:
            rank.hang_up()
        deadline = time.monotonic() + END_WITHIN_S
        for rank in self._ranks:
            rank.end(deadline)

    def show_failures(self) -> None:
        """On standard error, what ranks said as they failed, where rank 0 does not say it."""
        for rank in self._ranks:
            if rank.tells_more():
                with contextlib.suppress(OSError):  # the terminal may have gone
                    print(f"operant: {rank.named}, {rank.log_path} ends:", file=sys.stderr)
                    for line in rank.said():
                        print(f"  {harmless(line)}", file=sys.stderr)


@contextlib.contextmanager
def launched(launch: Launch | None, run: Run) -> Iterator[Launched]:
    """The ranks that `launch` asks for, none of which outlives the block."""
    ranks = Launched(launch, run)
    try:
        yield ranks
    finally:
        ranks.close()
        ranks.show_failures()


def task_of(member: Member, split: str) -> bytes:
    """What a rank is told: rank 0 tells the configuration as they meet."""
    return task("train", place=asdict(member.place), split=split)


@contextlib.contextmanager
def _opened_log(rank: StartedRank) -> Iterator[int | IO[bytes]]:
    try:
        log = os.fdopen(open_to_append(rank.log_path), "ab")
    except OSError:  # a disk that takes nothing is no reason not to train
        yield subprocess.DEVNULL
        return
    with log:
        yield log
