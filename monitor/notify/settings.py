"""`alerts.toml`, where a user names the receivers of messages. Runs cannot change it: its commands
and webhooks are called in the user's name.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from ...shared.errors import ConfigError, nearest
from ...shared.runs.alert_rule import AlertRule, parse_rules
from ...shared.runs.owners import own
from ...shared.runs.small_file import open_regular
from ...shared.text.harmless import one_line
from .receivers import Receiver, receiver_of

SWITCH = "OPERANT_ALERTS"  # "off" in the environment: no messages are sent
MAX_BYTES = 1 << 18
STALL_AFTER_S = 60.0
KEYS = ("rules", "tell", "stall_after_s")
# Of alerts, as `operant monitor` and docs/alerts.md have them.
SORTS = ("nan", "slow", "decline", "entropy", "kl", "still", "rule")


@dataclass(frozen=True)
class AlertSettings:
    """`rules` hold for all runs of the user; a stall is one after `stall_after_s`. `problems` are
    lines about what is wrong, which is left out.
    """

    rules: tuple[AlertRule, ...] = ()
    receivers: tuple[Receiver, ...] = ()
    stall_after_s: float = STALL_AFTER_S
    problems: tuple[str, ...] = ()


def alert_settings_path() -> Path:
    return platformdirs.user_config_path("operant") / "alerts.toml"


def load_alert_settings(path: Path) -> AlertSettings:
    """What the file at `path` says; nothing where there is none, and where others can write it."""
    try:
        text = _own_text(path)
        settings, problems = _settings_of(tomllib.loads(text))
    except FileNotFoundError:
        return AlertSettings()
    # Numbers of thousands of digits, and tables deep within tables, raise where they are looked at.
    except (OSError, ValueError, ConfigError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return AlertSettings(problems=(f"{path} is not used: {one_line(reason)}",))
    located = tuple(f"{path}: {one_line(problem)}" for problem in problems)
    return AlertSettings(*settings, problems=located)


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


def _settings_of(given: dict[str, Any]) -> tuple[tuple[Any, Any, float], list[str]]:
    problems = [f"{key} is not a setting{nearest(key, KEYS)}" for key in given if key not in KEYS]
    texts = given.get("rules", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        problems.append('rules is a list of texts, as ["loss/value > 1e3"]')
        texts = []
    rules, wrong = parse_rules(texts)
    problems += wrong
    stall_after_s = given.get("stall_after_s", STALL_AFTER_S)
    if type(stall_after_s) not in (int, float) or not 0 <= stall_after_s <= 86_400:
        problems.append(f"stall_after_s = {stall_after_s!r}: seconds, 0 to 86400")
        stall_after_s = STALL_AFTER_S
    tables = given.get("tell", [])
    if not isinstance(tables, list):
        problems.append("tell is written [[tell]], once for each command and webhook")
        tables = []
    receivers: dict[Receiver, None] = {}
    for table in tables:
        try:
            receivers[receiver_of(table, SORTS)] = None
        except ConfigError as error:
            problems.append(str(error))
    return (rules, tuple(_numbered(receivers)), float(stall_after_s)), problems


def _numbered(receivers: Iterable[Receiver]) -> Iterator[Receiver]:
    """With names that tell them apart: two webhooks of one host have secrets that do."""
    known = list(receivers)
    total = Counter(receiver.name for receiver in known)
    seen: Counter[str] = Counter()
    for receiver in known:
        seen[receiver.name] += 1
        name = f"{receiver.name} ({seen[receiver.name]} of {total[receiver.name]})"
        yield replace(receiver, name=name) if total[receiver.name] > 1 else receiver


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
    """Those through which one comes to a file, by its own name and by where links lead, as far up
    as the user's home.
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
