"""Sends a test message to a receiver, for users who try their settings."""

from __future__ import annotations

import secrets
import socket
import time

from ..recorder.events_file import iso_time
from .message import Message
from .receivers import Receiver
from .teller import tell


def tell_on_trial(receiver: Receiver) -> str:
    """Why that failed; nothing where it did not. The message is one of a run that there is not."""
    return tell(receiver, _message(), _waits)


def _message() -> Message:
    return Message(
        secrets.token_hex(8),
        "alert",
        "trial",
        "trial",
        "trial: loss/value > 1e3: it is 1234 (this is a trial of your alerts)",
        "running",
        iso_time(time.time_ns()),
        alert="rule",
        metric="loss/value",
        value=1234.0,
        env_steps=1_000_000,
        host=socket.gethostname(),
    )


def _waits(seconds: float) -> bool:
    time.sleep(seconds)
    return False
