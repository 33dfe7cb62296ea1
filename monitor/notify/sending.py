"""Sends one message, by the user's command and through apprise. Failures are described without
anything that the user wrote into the settings: command lines and addresses hold secrets.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from ...shared.install_command import install_command
from ...shared.runs.recorder_process import SWITCH
from .message import Message
from .settings import AlertSettings

COMMAND_TIMEOUT_S = 60.0
# How the recorder itself was started. `train --resume --trust-code` is meant for that run alone,
# not for what a command calls.
RECORDERS_OWN = (SWITCH, "OPENBLAS_NUM_THREADS", "OPERANT_TRUST_CODE")


def send(settings: AlertSettings, message: Message, *, shows_errors: bool = False) -> list[str]:
    """A line about each failure. With `shows_errors`, the command writes its errors to the terminal
    of this process.
    """
    problems = _send_to_urls(settings.urls, message) if settings.urls else []
    if settings.command:
        problems += _run_command(settings.command, message, shows_errors)
    return problems


def _send_to_urls(urls: tuple[str, ...], message: Message) -> list[str]:
    try:
        import apprise
    except ImportError:
        return [f"urls need apprise: {install_command('notify')}"]
    logger = logging.getLogger("apprise")  # its lines hold the addresses
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    problems = []
    for number, url in enumerate(urls, 1):
        service = re.match(r"[a-z0-9]{1,20}(?=://)", url.lower())
        name = f"url {number}" + (f" ({service[0]})" if service else "")
        sender = apprise.Apprise()
        if not sender.add(url):
            problems.append(f"{name} is not an address that apprise knows")
        elif not sender.notify(body=message.text, title=f"operant: {message.kind}"):
            problems.append(f"{name} did not take the message")
    return problems


def _run_command(command: str, message: Message, shows_errors: bool) -> list[str]:
    """Run it once: when it fails, half of its work may be done."""
    kept = {name: value for name, value in os.environ.items() if name not in RECORDERS_OWN}
    home = Path.home()  # not where the run was started, which may be anybody's folder
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if shows_errors else subprocess.DEVNULL,
        env=kept | message.environment(),
        cwd=home if home.is_dir() else "/",
        start_new_session=True,
    )
    try:
        code = process.wait(COMMAND_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return [f"the command took over {COMMAND_TIMEOUT_S:g} s and was killed"]
    return [f"the command failed with exit code {code}"] if code else []
