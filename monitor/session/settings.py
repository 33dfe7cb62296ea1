"""The monitor's settings, kept between sessions in a small TOML file that people may edit."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from ...shared.runs.small_file import read_toml, write_whole
from ..charts.options import ChartOptions
from ..charts.smoothing import STRENGTHS
from ..charts.x_axis import X_COUNTS
from ..panels.pane_layout import PANES
from ..render.palette import THEMES
from ..runs.list.group_statistics import SPREADS, Spread
from ..runs.list.run_order import is_order

MAX_BYTES = 1 << 20
REFRESH_S = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)

_HEAD = "# How `operant monitor` looks. Edit it as you like: comments stay.\n"


@dataclass(frozen=True)
class Settings:
    """`panes` are those that people want to see, the latest choice first; `log_x` and `log_y` the
    metrics whose charts are logarithmic, `full_y` those that show all values;
    `smoothing` a place in `STRENGTHS`.
    """

    theme: str = "dark"
    ascii: bool = False
    refresh_s: float = 0.5
    bell: bool = False
    panes: tuple[str, ...] = ("charts", "media", "events", "time", "machine")
    x_axis: str = "env steps"
    smoothing: int = 0
    log_x: tuple[str, ...] = ()
    log_y: tuple[str, ...] = ()
    full_y: tuple[str, ...] = ()
    order: str = "newest"
    reversed_order: bool = False
    seeds_spread: Spread = "quartiles"

    def chart_options(self) -> ChartOptions:
        """The charts as they were left."""
        count = next(count for count in X_COUNTS if count == self.x_axis)
        log_x, log_y = frozenset(self.log_x), frozenset(self.log_y)
        return ChartOptions(count, self.smoothing, log_x, log_y, frozenset(self.full_y))

    @staticmethod
    def with_chart_options(options: ChartOptions) -> dict[str, Any]:
        """The settings that keep `options`."""
        return {
            "x_axis": options.x_count,
            "smoothing": options.smoothing,
            "log_x": tuple(sorted(options.log_x)),
            "log_y": tuple(sorted(options.log_y)),
            "full_y": tuple(sorted(options.full_y)),
        }


def settings_path() -> Path:
    return platformdirs.user_config_path("operant") / "monitor.toml"


def read_own(path: Path, limit_bytes: int) -> tuple[dict[str, Any], str]:
    """The table in one of the monitor's files, empty without it; and one line about why the file
    is not used, or nothing.
    """
    try:
        return read_toml(path, limit_bytes), ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, ValueError) as error:
        return {}, f"{path} is not used: {' '.join(str(error).split())}"


def load_settings(path: Path) -> tuple[Settings, str]:
    """The settings in the file at `path`, and one line about what is wrong with it, or nothing.

    Wrong values and unknown names are left out. Without a file all settings are as they come.
    """
    given, problem = read_own(path, MAX_BYTES)
    if problem:
        return Settings(), problem
    problems: list[str] = []
    chosen: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _CHECKS:  # of another version
            continue
        if not _CHECKS[name](value):
            problems.append(f"{name} = {value!r} is not possible")
        else:
            chosen[name] = tuple(value) if isinstance(value, list) else value
    settings = replace(Settings(), **chosen)
    return settings, f"{path}: {', '.join(problems)}" if problems else ""


def save_settings(path: Path, settings: Settings) -> None:
    """Write `settings` to `path`, line by line into what stands there: comments stay, and so does
    a file that cannot be read. Raises OSError when the disk does not take it.
    """
    try:
        text = path.read_text("utf-8")
        tomllib.loads(text)
    except FileNotFoundError:
        text = _HEAD
    except ValueError:
        return
    for name, value in asdict(settings).items():
        text = _with_line(text, name, value)
    if tomllib.loads(text).keys() < asdict(settings).keys():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # A link to it, as people have who keep such files elsewhere, stays one.
    write_whole(path.resolve(), text.encode(), outlives_power_cut=False)


def _with_line(text: str, name: str, value: Any) -> str:
    """`text` with the line that sets `name` setting it to `value`; what stood behind it stays."""
    # Strings, numbers, booleans and lists of strings are written alike in JSON and TOML.
    line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
    pattern = rf"(?m)^{name}[ \t]*=[ \t]*(\[[^\]]*\]|\"[^\"\n]*\"|[^#\n]*?)(?=[ \t]*(#.*)?$)"
    text, count = re.subn(pattern, lambda _: line, text, count=1)
    return text if count else f"{text.rstrip()}\n{line}\n"


def _is_one_of(allowed: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in allowed


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "theme": _is_one_of(THEMES),
    "ascii": _is_bool,
    "refresh_s": lambda v: type(v) in (int, float) and REFRESH_S[0] <= v <= REFRESH_S[-1],
    "bell": _is_bool,
    "panes": lambda v: _is_names(v) and set(v) <= set(PANES),
    "x_axis": _is_one_of(X_COUNTS),
    "smoothing": lambda v: type(v) is int and 0 <= v < len(STRENGTHS),
    "log_x": _is_names,
    "log_y": _is_names,
    "full_y": _is_names,
    "order": lambda v: isinstance(v, str) and is_order(v),
    "reversed_order": _is_bool,
    "seeds_spread": _is_one_of(SPREADS),
}
assert set(_CHECKS) == {field.name for field in fields(Settings)}
