"""`alerts.toml`, where a user says who gets messages. Runs cannot change it: its command is run in
the user's name.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from ...shared.errors import ConfigError, nearest
from ...shared.runs.alert_rule import AlertRule, parse_rules
from ...shared.runs.owners import own
from ...shared.runs.small_file import open_regular
from ...shared.text.harmless import one_line
from .message import KINDS, Message

SWITCH = "OPERANT_ALERTS"  # "off" in the environment: no messages are sent
MAX_BYTES = 1 << 18
STALL_AFTER_S = 60.0
# Kinds of messages, and of alerts as `operant monitor` and docs/alerts.md have them.
CHOICES = (*KINDS, "nan", "slow", "decline", "entropy", "kl", "still", "rule")


@dataclass(frozen=True)
class AlertSettings:
    """`rules` hold for all runs of the user; messages go to `urls` of apprise and to `command`, a
    shell line. A stall is one after `stall_after_s`. `problems` are lines about what is wrong,
    which is left out.
    """

    rules: tuple[AlertRule, ...] = ()
    urls: tuple[str, ...] = ()
    command: str = ""
    on: tuple[str, ...] = KINDS
    stall_after_s: float = STALL_AFTER_S
    problems: tuple[str, ...] = ()

    def wants(self, message: Message) -> bool:
        """Whether it is sent: by the message's kind, or by the kind of alert."""
        is_wanted = message.kind in self.on or (message.is_alert and message.alert in self.on)
        return is_wanted and bool(self.urls or self.command)


def alert_settings_path() -> Path:
    return platformdirs.user_config_path("operant") / "alerts.toml"


def load_alert_settings(path: Path) -> AlertSettings:
    """Read the settings at `path`; defaults if there is no such file, or others can write to it."""
    try:
        return _settings_of(tomllib.loads(_own_text(path)), path)
    except FileNotFoundError:
        return AlertSettings()
    # Numbers of thousands of digits, and tables deep within tables, raise where they are looked at.
    except (OSError, ValueError, ConfigError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return AlertSettings(problems=(f"{path} is not used: {one_line(reason)}",))


class OwnSettings:
    """The settings as they are now: the file may be changed while a run goes on."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or alert_settings_path()
        self._seen: tuple[int, ...] | None = None
        self._settings = AlertSettings()

    def __call__(self) -> AlertSettings:
        seen = self._look()
        if seen != self._seen:
            self._settings, self._seen = load_alert_settings(self._path), seen
        return self._settings

    def _look(self) -> tuple[int, ...]:
        try:
            status = os.stat(self._path)
        except OSError:
            return ()
        # The mode and the owner count: who may write there is a matter of them.
        return (status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size)


def is_switched_off() -> bool:
    return os.environ.get(SWITCH, "").lower() == "off"


def _settings_of(given: dict[str, Any], path: Path) -> AlertSettings:
    """Problems never show values of `urls` and `command`: they are among a run's events, which
    others may read.
    """
    problems = []
    usable: dict[str, Any] = {}
    for key, value in given.items():
        if key not in _RULES:
            problems.append(f"{key} is not a setting{nearest(key, _RULES)}")
        elif not _RULES[key][0](value):
            problems.append(f"{key}: expected {_RULES[key][1]}")
        else:
            usable[key] = tuple(value) if isinstance(value, list) else value
    usable["rules"], wrong = parse_rules(usable.get("rules", ()))
    located = tuple(f"{path}: {one_line(problem)}" for problem in (*problems, *wrong))
    return AlertSettings(**usable, problems=located)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


# Of each key, whether a value can be, and what it can be.
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "rules": (_is_texts, 'a list of texts, as ["loss/value > 1e3"]'),
    "urls": (_is_texts, "a list of addresses of apprise"),
    "command": (
        lambda value: isinstance(value, str) and bool(value.strip()) and "\0" not in value,
        "a shell line",
    ),
    "on": (
        lambda value: _is_texts(value) and set(value) <= {*CHOICES},
        f"a list, of {', '.join(CHOICES)}",
    ),
    "stall_after_s": (
        lambda value: type(value) in (int, float) and 0 <= value <= 86_400,
        "seconds, 0 to 86400",
    ),
}


def _own_text(path: Path) -> str:
    """Raises ConfigError where others could have written it."""
    fd = open_regular(path)
    with os.fdopen(fd, "rb") as file:
        _check_own(os.fstat(fd), path)
        for folder in _folders_of(path):
            _check_own(os.stat(folder), folder, may_be_sticky=True)
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ConfigError(f"it is larger than {MAX_BYTES} bytes")
    return data.decode("utf-8")


def _folders_of(path: Path) -> Iterator[Path]:
    """The folders above a file, by its own path and by the path that links lead to, up to the
    user's home.
    """
    seen: Callable[[Path], bool] = {Path.home(), Path.home().resolve()}.__contains__
    for place in dict.fromkeys((path.absolute(), path.resolve())):
        for folder in place.parents:
            yield folder
            if seen(folder):
                break


def _check_own(status: os.stat_result, path: Path, may_be_sticky: bool = False) -> None:
    if status.st_uid not in own():
        raise ConfigError(f"{path} belongs to another user")
    is_shared = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    if is_shared and not (may_be_sticky and status.st_mode & stat.S_ISVTX):
        raise ConfigError(f"others can write to {path}: run `chmod go-w {path}`")
