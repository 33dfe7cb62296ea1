"""`operant alerts`: who receives messages about runs."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from .command import Command, json_option

if TYPE_CHECKING:
    from ..monitor.notify.message import Message


@click.command("alerts", cls=Command)
@click.option("--try", "is_trial", is_flag=True, help="Send a test message.")
@json_option
def command(is_trial: bool, as_json: bool) -> None:
    """Show who gets messages when runs finish, crash or stall.

    It prints the rules of your own settings file, alerts.toml, and where messages go, or its
    errors; see docs/alerts.md. Runs cannot change this file.
    """
    from ..monitor.notify.sending import send
    from ..monitor.notify.settings import alert_settings_path, load_alert_settings
    from ..monitor.render.formatting import format_duration
    from ..shared.errors import OperantError, UsageError
    from .helpers.output import print_json, print_line

    path = alert_settings_path()
    settings = load_alert_settings(path)
    for problem in settings.problems:
        raise UsageError(problem)
    say: Callable[[str], None] = (lambda _: None) if as_json else print_line
    if as_json:
        print_json({
            "rules": [rule.text for rule in settings.rules],
            "on": list(settings.on),
            "urls": len(settings.urls),
            "has_command": bool(settings.command),
            "stall_after_s": settings.stall_after_s,
        })  # fmt: skip
    for rule in settings.rules:
        say(f"rule  {rule.text}")
    if not (settings.urls or settings.command):
        lack = "has neither urls nor a command"
        if not path.exists():
            lack = "does not exist (docs/alerts.md has an example)"
        text = f"no messages are sent: {path} {lack}"
        if is_trial:
            raise UsageError(text)
        say(text)
        return
    ways = [f"{len(settings.urls)} urls"] * bool(settings.urls)
    ways += ["a command"] * bool(settings.command)
    say(f"messages on {', '.join(settings.on)} go to {' and '.join(ways)}")
    say(f"a stalled run is reported after {format_duration(settings.stall_after_s)}")
    if is_trial:
        problems = send(settings, _trial(), shows_errors=True)
        if problems:
            raise OperantError(f"the test message was not sent: {'; '.join(problems)}")
        say("the test message was sent")


def _trial() -> Message:
    from ..monitor.notify.message import Message
    from ..monitor.recorder.events_file import iso_time

    return Message(
        secrets.token_hex(8),
        "alert",
        "trial",
        "trial",
        "trial: loss/value > 1e3: it is 1234 (this is a test of your alerts)",
        "running",
        iso_time(time.time_ns()),
        alert="rule",
        metric="loss/value",
        value=1234.0,
        env_steps=1_000_000,
        host=socket.gethostname(),
    )
