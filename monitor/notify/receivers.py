"""Receivers of messages: commands and webhooks from the user's settings."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ...shared.errors import ConfigError, nearest
from ...shared.text.harmless import one_line
from .message import KINDS, Message

MOST_TIMEOUT_S = 600.0
_ASSIGNMENT = re.compile(r"\w+\+?=")
_PROGRAM = re.compile(r"[\w.+~/-]+")
MOST_PER_HOUR = 10_000


@dataclass(frozen=True)
class Receiver:
    """A command or a webhook, and the messages it gets. Only `name` may be shown: addresses and
    command lines hold secrets.
    """

    name: str
    on: frozenset[str]
    command: tuple[str, ...] = ()
    webhook: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""  # JSON
    timeout_s: float = 10.0
    alerts_per_hour: int = 20

    def wants(self, message: Message) -> bool:
        """Whether it gets this message: by the message's kind, or by the kind of alert."""
        return message.kind in self.on or (message.is_alert and message.alert in self.on)


def receiver_of(table: Any, sorts: tuple[str, ...]) -> Receiver:
    """The receiver that a `[[tell]]` describes; `sorts` are those of alerts. Raises ConfigError."""
    if not isinstance(table, dict):
        raise ConfigError("tell must be a table: write [[tell]] and its keys below")
    for key, value in table.items():
        if key not in _CHECKS:
            raise ConfigError(f"[[tell]] has no key '{one_line(key, 50)}'{nearest(key, _CHECKS)}")
        if not _CHECKS[key](value):
            shown = "" if key in _SECRET else f" = {one_line(repr(value), 100)}"
            raise ConfigError(f"[[tell]] {key}{shown}: {_RULES[key]}")
    if ("command" in table) == ("webhook" in table):
        raise ConfigError("each [[tell]] needs either command or webhook")
    on = table.get("on", list(KINDS))
    for kind in on:
        known = (*KINDS, *sorts)
        if kind not in known:
            raise ConfigError(f"[[tell]] on '{kind}'{nearest(kind, known)}; {', '.join(known)}")
    if "command" in table:
        return _command(table, frozenset(on))
    return _webhook(table, frozenset(on))


def _command(table: Mapping[str, Any], on: frozenset[str]) -> Receiver:
    for key in ("headers", "body"):
        if key in table:
            raise ConfigError(f"[[tell]] {key} is for webhooks; this is a command")
    command = table["command"]
    if isinstance(command, str):
        line: tuple[str, ...] = ("/bin/sh", "-c", command)
        program = _program_of(command)
    else:
        line, program = tuple(command), command[0]
    # Only what is plainly a program: `TOKEN=x curl` begins with a secret, and so may "$(...)".
    name = os.path.basename(program) if _PROGRAM.fullmatch(program) else ""
    return Receiver(f"command {name[:40]}".rstrip(), on, line, **_numbers(table, timeout_s=60.0))


def _program_of(line: str) -> str:
    """The program that a shell line starts, after its assignments; empty where that is unclear."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation that does not end
        return ""
    for word in words:
        if not _ASSIGNMENT.match(word):
            return word
        if "$(" in word or "`" in word:  # the words that follow may belong to it
            return ""
    return ""


def _webhook(table: Mapping[str, Any], on: frozenset[str]) -> Receiver:
    host = urlsplit(table["webhook"]).hostname
    return Receiver(
        f"webhook {one_line(str(host), 60)}",
        on,
        webhook=table["webhook"],
        headers=tuple(table.get("headers", {}).items()),
        body=json.dumps(table["body"]) if "body" in table else "",
        **_numbers(table),
    )


def _numbers(table: Mapping[str, Any], **defaults: float) -> dict[str, Any]:
    given = {key: table[key] for key in ("timeout_s", "alerts_per_hour") if key in table}
    return {**defaults, **given}


def _is_command(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and "\0" not in value
    is_list = isinstance(value, list) and bool(value) and all(type(v) is str for v in value)
    return is_list and bool(value[0].strip()) and not any("\0" in word for word in value)


def _is_address(value: Any) -> bool:
    """Users and passwords in addresses are for headers: they would be sent to no one."""
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        return False
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return False
    is_plain = parts.username is None and " " not in value
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain


def _is_headers(value: Any) -> bool:
    return isinstance(value, dict) and all(
        re.fullmatch(r"[!#$%&'*+.^_|~0-9A-Za-z-]+", name)
        and isinstance(text, str)
        and text.isascii()
        and text.isprintable()
        for name, text in value.items()
    )


def _is_body(value: Any) -> bool:
    """Whether JSON can say it: TOML has times as well, and numbers that are none."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(value, dict) and bool(value)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "command": _is_command,
    "webhook": _is_address,
    "on": lambda v: isinstance(v, list) and bool(v) and all(isinstance(k, str) for k in v),
    "headers": _is_headers,
    "body": _is_body,
    "timeout_s": lambda v: type(v) in (int, float) and 0.1 <= v <= MOST_TIMEOUT_S,
    "alerts_per_hour": lambda v: type(v) is int and 1 <= v <= MOST_PER_HOUR,
}
# Of these nothing is ever shown: what is wrong is said among a run's events, which others may read.
_SECRET = frozenset(("command", "webhook", "headers", "body"))
_RULES = {
    "command": "it is a shell line, or a list of a program and its arguments",
    "webhook": "it is an address, as https://example.org/path; who you are goes into headers",
    "on": f"it is a list, of {', '.join(KINDS)}",
    "headers": 'it is a table of texts, as { Authorization = "Bearer ..." }',
    "body": 'it is a table of what JSON can say, as { content = "{text}" }',
    "timeout_s": f"seconds, 0.1 to {MOST_TIMEOUT_S:.0f}",
    "alerts_per_hour": f"1 to {MOST_PER_HOUR}",
}
