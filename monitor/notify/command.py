"""Runs a user's command with what there is to tell in its environment."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from ...shared.runs.recorder_process import SWITCH
from ...shared.text.harmless import one_line
from ...shared.text.masking import MASK, is_secret, masked_text
from .message import Message
from .receivers import Receiver

TAIL_BYTES = 4096
LEAST_SECRET = 6  # characters; words that are shorter are hardly secrets
_PIECE = re.compile(r"[\w.~+-]+")
# How the recorder itself was started. `train --resume --trust-code` is meant for that run alone,
# not for what a command calls.
RECORDERS_OWN = (SWITCH, "OPENBLAS_NUM_THREADS", "OPERANT_TRUST_CODE")


def run_command(receiver: Receiver, message: Message) -> str:
    """Once, since half of what it does may be done when it fails; why it failed, nothing where it
    did not.
    """
    kept = {name: value for name, value in os.environ.items() if name not in RECORDERS_OWN}
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                receiver.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=kept | message.environment(),
                cwd=_home(),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return one_line(getattr(error, "strerror", None) or str(error))
        try:
            code = process.wait(receiver.timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"not done after {receiver.timeout_s:g} s, and ended"
        return f"exit code {code}{_last_line(errors, receiver)}" if code else ""


def _last_line(errors: IO[bytes], receiver: Receiver) -> str:
    """The last line of the command's errors, without words of its command line and other secrets:
    others may read `events.log`, where it stands.
    """
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - TAIL_BYTES))
    lines = errors.read(TAIL_BYTES).decode("utf-8", "replace").split("\n")
    printed = [line for line in map(one_line, lines) if line]
    return f": {_without_secrets(printed[-1], receiver)[:200]}" if printed else ""


def _without_secrets(text: str, receiver: Receiver) -> str:
    text = masked_text(text)
    known = {value for name, value in os.environ.items() if is_secret(name)}
    for argument in receiver.command:
        # Whole and in pieces: a shell and what it calls say words of it with other marks around.
        known |= {argument, *_PIECE.findall(argument)}
    known -= {*receiver.name.split(), *receiver.command[:1]}
    for secret in sorted(known, key=len, reverse=True):
        if len(secret) >= LEAST_SECRET:
            text = text.replace(secret, MASK)
    return text


def _home() -> str | None:
    """Where commands run: not where a run was started, which may be anybody's folder."""
    home = Path.home()
    return str(home) if home.is_dir() else "/"
