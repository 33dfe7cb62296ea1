"""What runs were run with, as lines: one run's configuration, or where several differ."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

from rich.cells import cell_len

from ...shared import Metric
from ..charts.shown_run import Watched
from ..look.formatting import UNKNOWN, format_written
from ..look.lines import Line, fit, fit_middle, line_width
from ..runs.run_description import Setting
from ..runs.run_table import short_name
from ..runs.run_view import RunView

CHANGED = "•"
_MIN_KEY_WIDTH, _MAX_KEY_WIDTH = 12, 44
_MIN_COLUMN_WIDTH, _MAX_COLUMN_WIDTH = 9, 30
_GAP = "  "


def own_lines(view: RunView, width: int) -> list[Line]:
    """Notes, then what is not by default, each with its default, then the rest, then how the run
    was started.
    """
    told = view.description
    changed = [setting for setting in told.settings if setting.default is not None]
    others = [setting for setting in told.settings if setting.default is None]
    keys = [setting.key for setting in (*told.settings, *told.started)]
    key_width = _key_width(keys, width // 2)
    lines = _note_lines(view, width)
    for setting in changed:
        lines += _setting_lines(setting, key_width, width, CHANGED, "focus", "strong")
    if changed and others:
        lines.append([("  by default", "dim")])
    style = "dim" if told.has_defaults else "text"
    for setting in others:
        lines += _setting_lines(setting, key_width, width, " ", "text", style)
    if told.started:
        lines.append([("  how it was started", "dim")])
    for setting in told.started:
        lines += _setting_lines(setting, key_width, width, " ", "text", "dim")
    return lines


def difference_lines(watched: Sequence[Watched], width: int) -> tuple[list[Line], list[Line]]:
    """A head with a column for each run, and the rows where they differ: keys of the configuration,
    then newest values, first those of which it is known what is better: the best stand out.
    """
    settings = _differing_settings(watched)
    metrics = _differing_metrics(watched)
    key_width = _key_width([*settings, *metrics], width // 3)
    room = width - key_width
    shown = watched[: max(1, room // (_MIN_COLUMN_WIDTH + len(_GAP)))]
    cells = min(_MAX_COLUMN_WIDTH, room // len(shown) - len(_GAP))
    head: Line = [(fit("", key_width), "dim")]
    for one in shown:
        marker, style = (one.look.marker, one.look.style) if one.look else ("", "text")
        name = short_name(one.view.name, cells - 2 - 4 * one.is_reference)
        words = f"{name}{' ref' if one.is_reference else ''}"
        head += [(f"{_GAP}{marker} ", style), (fit(words, cells - 2), "strong")]
    lines: list[Line] = [[_key(key, key_width), *_cells(texts, cells, len(shown))]
                         for key, texts in settings.items()]  # fmt: skip
    if not settings:
        lines.append([(fit("their configurations are the same", width), "dim")])
    lines += [[], [("newest values", "dim")]] if metrics else []
    for name, (texts, best) in metrics.items():
        lines.append([_key(name, key_width), *_cells(texts, cells, len(shown), best)])
    return [head], lines


def num_more(watched: Sequence[Watched], width: int) -> int:
    """How many runs have no room for a column."""
    room = width - _key_width([*_differing_settings(watched)], width // 3)
    return max(0, len(watched) - max(1, room // (_MIN_COLUMN_WIDTH + len(_GAP))))


def in_words(view: RunView) -> str:
    """`12 of 61 not by default`."""
    told = view.description
    if not told.settings:
        return ""
    if not told.has_defaults:
        return f"{len(told.settings)} keys"
    changed = sum(setting.default is not None for setting in told.settings)
    return f"{changed} of {len(told.settings)} not by default"


def _note_lines(view: RunView, width: int) -> list[Line]:
    notes = view.notes
    told = {
        "id  ": view.status.run if notes.name else "",
        "tags": " ".join(f"#{tag}" for tag in notes.tags),
        "note": notes.note,
        "archived": "lists leave it out" if notes.is_archived else "",
    }
    lines: list[Line] = []
    for key, text in told.items():
        if text:
            lines += _setting_lines(Setting(key, text), len(key), width, " ", "dim", "text")
    return lines


def _setting_lines(
    setting: Setting, key_width: int, width: int, mark: str, key_style: str, style: str
) -> list[Line]:
    """As many as the value takes."""
    room = max(8, width - key_width - 4)
    rows: list[Line] = [[(row, style)] for row in _broken(setting.value, room)]
    if setting.default is not None:
        default = _broken(f"(default {setting.default})", room)
        if cell_len(rows[-1][0][0] + _GAP + default[0]) <= room:
            rows[-1].append((_GAP + default.pop(0), "dim"))
        rows += [[(row, "dim")] for row in default]
    head: Line = [(f"{mark} ", "focus"), _key(setting.key, key_width, key_style), (_GAP, "text")]
    indent: Line = [(" " * line_width(head), "text")]
    return [[*(indent if number else head), *row] for number, row in enumerate(rows)]


def _broken(text: str, room: int) -> list[str]:
    return textwrap.wrap(text, room, break_on_hyphens=False) or [""]


def _differing_settings(watched: Sequence[Watched]) -> dict[str, list[str]]:
    """The keys that not all runs have alike, each with a text for each run."""
    told = [one.view.description.comparable() for one in watched]
    keys = dict.fromkeys(key for settings in told for key in settings)
    table = {key: [settings.get(key, UNKNOWN) for settings in told] for key in keys}
    return {key: texts for key, texts in table.items() if len(set(texts)) > 1}


def _differing_metrics(watched: Sequence[Watched]) -> dict[str, tuple[list[str], frozenset[int]]]:
    """The newest values that differ as they are shown, and which of them are the best."""
    newest = [one.view.newest for one in watched]
    schema = {metric.name: metric for one in reversed(watched) for metric in one.view.schema}
    names = dict.fromkeys(name for values in newest for name in values)
    table = {}
    for name in sorted(names, key=lambda name: _better(schema.get(name)) == 0):
        values = [values.get(name, math.nan) for values in newest]
        texts = [format_written(value) for value in values]
        if len(set(texts)) > 1:
            best = _best(values, _better(schema.get(name)))
            # Whoever reads the same as the best does not fall behind it.
            table[name] = (
                texts,
                frozenset(
                    i for i, text in enumerate(texts) if best is not None and text == texts[best]
                ),
            )
    return table


def _better(metric: Metric | None) -> int:
    return {"up": 1, "down": -1}.get(metric.better if metric else "", 0)


def _best(values: Sequence[float], better: int) -> int | None:
    known = {i: value for i, value in enumerate(values) if math.isfinite(value)}
    if not better or len(known) < 2:
        return None
    return max(known, key=lambda i: better * known[i])


def _cells(
    texts: Sequence[str], cells: int, num_shown: int, best: frozenset[int] = frozenset()
) -> Line:
    return [
        (_GAP + fit(text, cells), "good" if place in best else "text")
        for place, text in enumerate(texts[:num_shown])
    ]


def _key(key: str, width: int, style: str = "dim") -> tuple[str, str]:
    return fit(fit_middle(key, width), width), style


def _key_width(keys: Sequence[str] | Mapping[str, object], most: int) -> int:
    widest = max(map(len, keys), default=0)
    return max(_MIN_KEY_WIDTH, min(widest, most, _MAX_KEY_WIDTH))
