"""One machine that is asked whether a rank can be started on it."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from typing import Any

from ...monitor.remote.error_tail import ErrorTail
from ...shared.errors import OperantError, UsageError
from ...shared.ssh import SHELL_NOT_FOUND, SSH_NOT_REACHED
from .messages import MAX_BYTES, answer_in
from .nodes import Node
from .reaching import kill_with_children, rank_command

ANSWER_WITHIN_S = 90.0  # of a cold disk
END_WITHIN_S = 2.0
# What ssh says where it would not help to answer it.
NOT_OF_ASKING = ("refused", "resolve", "timed out", "No route", "no route", "unreachable")


class Question:
    """Asks one machine; `end` ends it from any thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._is_over = False
        try:
            self._process = subprocess.Popen(
                rank_command(node),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"cannot run ssh: {error.strerror}") from None

    def answer(self, asked: bytes) -> dict[str, Any]:
        """What it answers to that. Raises OperantErrors that say why it does not."""
        process = self._process
        assert process.stdin
        assert process.stdout
        assert process.stderr
        errors = ErrorTail(process.stderr)
        late = threading.Timer(ANSWER_WITHIN_S, self.end)
        late.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(asked)
                process.stdin.flush()
            num_bytes = 0
            while num_bytes < MAX_BYTES and (line := process.stdout.readline(MAX_BYTES)):
                num_bytes += len(line)
                answer = answer_in(line)
                if answer is not None:
                    return answer
            raise self._why_not(errors)
        finally:
            late.cancel()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(BrokenPipeError):  # of what it has not read
                    pipe.close()

    def _why_not(self, errors: ErrorTail) -> OperantError:
        """From the exit code of ssh or of the other operant, and the last line of its errors."""
        name = self._node.name
        if self._is_over:
            return OperantError(f"{name} has not answered within {ANSWER_WITHIN_S:.0f} s")
        try:
            exit_code = self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            return OperantError(f"{name} sent an answer that operant cannot read")
        said = errors.last_line(END_WITHIN_S).removeprefix("operant: ")
        if exit_code == SSH_NOT_REACHED:
            told = f"cannot reach {name}: {said.rstrip('.') or 'ssh failed'}"
            if not any(word in said for word in NOT_OF_ASKING):
                told += f"; `ssh {self._node.host}` must get in without asking anything"
            return OperantError(told)
        if exit_code == SHELL_NOT_FOUND:
            return UsageError(
                f"{name} has no operant where its shell looks ({said}); write "
                f"{name}=COMMAND, or set OPERANT_REMOTE, to the command that starts it there"
            )
        if "no such command" in said.lower():
            return UsageError(f"{name} has an operant of another version, which knows no ranks")
        return OperantError(f"{name}: {said or f'operant there ended with exit code {exit_code}'}")

    def end(self) -> None:
        self._is_over = True
        kill_with_children(self._process)
