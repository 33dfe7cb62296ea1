"""What a run was run with, and where runs on the same charts differ."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby

from rich.cells import cell_len, chop_cells

from ...shared import Metric
from ...shared.runs.run_folder import DIFF_FILE
from ...shared.runs.setting_sources import YOU, is_by_you, is_default
from ..charts.shown_run import Watched
from ..panels.run_table import short_name
from ..render.formatting import UNKNOWN, format_relative, format_written
from ..render.lines import Line, fit, fit_middle, line_width
from ..runs.reading.run_description import Description, Setting, comparable
from ..runs.reading.run_view import RunView
from .scrolling_pane import TOP, ScrollingPane

CHANGED = "•"
_MIN_KEY_WIDTH, _MAX_KEY_WIDTH = 12, 44
_MIN_COLUMN_WIDTH, _MAX_COLUMN_WIDTH = 9, 30
_GAP = "  "
_DIFF_STYLES = {"+": "good", "-": "warning", " ": "text"}


def own_lines(view: RunView, width: int) -> list[Line]:
    """Notes, then the settings of each source, yours first, with the defaults of those that differ
    from them, then how the run was started and what was changed since its commit. Where sources are
    not known, settings that differ from their defaults come first.
    """
    description = view.description
    keys = [setting.key for setting in (*description.settings, *description.started)]
    key_width = _key_width(keys, width // 2)
    lines = _note_lines(view, width)
    for heading, settings in groupby(description.settings, partial(_heading, description)):
        lines += [[(f"  {heading}", "dim")]] if heading else []
        for setting in settings:
            if _is_marked(setting):
                lines += _setting_lines(setting, key_width, width, CHANGED, "focus", "strong")
            else:
                is_plain = setting.source and not is_default(setting.source)
                style = "text" if is_plain or not description.has_defaults else "dim"
                lines += _setting_lines(setting, key_width, width, " ", "text", style)
    if description.started:
        lines.append([("  how it was started", "dim")])
    for setting in description.started:
        lines += _setting_lines(setting, key_width, width, " ", "text", "dim")
    if description.diff:
        lines.append([(f"  {DIFF_FILE}", "dim")])
    for line in description.diff:
        style = _DIFF_STYLES.get(line[:1], "dim")
        lines += [[(row, style)] for row in chop_cells(line, max(2, width))]
    return lines


def _heading(description: Description, setting: Setting) -> str:
    """The heading of the settings of a source."""
    if not setting.source:
        return "by default" if description.has_defaults and setting.default is None else ""
    if setting.source == YOU:
        return "set by you"
    return setting.source if is_default(setting.source) else f"from {setting.source}"


def _is_marked(setting: Setting) -> bool:
    """Whether you set it; where sources are not known, whether it differs from its default."""
    return is_by_you(setting.source) if setting.source else setting.default is not None


def difference_lines(watched: Sequence[Watched], width: int) -> tuple[list[Line], list[Line]]:
    """A heading with a column for each run, and a row for each difference: keys of the
    configuration, with a mark where you set the value, then newest values. Metrics that have a
    better direction come first, with the best value highlighted. Values of other runs than the
    reference have their distance from its value.
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
    by_you = [
        {each.key for each in one.view.description.settings if is_by_you(each.source)}
        for one in shown
    ]
    lines: list[Line] = []
    for key, texts in settings.items():
        marked = [
            f"{fit(text, min(cell_len(text), cells - 2))} {CHANGED}" if key in keys else text
            for text, keys in zip(texts, by_you, strict=False)
        ]
        lines.append([_key(key, key_width), *_cells(marked, cells, len(shown))])
    if any(key in keys for key in settings for keys in by_you):
        lines.append([(f"{CHANGED} set by you", "dim")])
    if not settings:
        lines.append([(fit("their configurations are the same", width), "dim")])
    lines += [[], [("newest values", "dim")]] if metrics else []
    reference = next((i for i, one in enumerate(watched) if one.is_reference), None)
    for name, (texts, best) in metrics.items():
        if reference is not None:
            values = [one.view.newest.get(name) for one in watched]
            texts = [
                _with_relative(text, value, values[reference], cells) if i != reference else text
                for i, (text, value) in enumerate(zip(texts, values, strict=True))
            ]
        lines.append([_key(name, key_width), *_cells(texts, cells, len(shown), best)])
    return [head], lines


def _with_relative(text: str, value: float | None, reference: float | None, cells: int) -> str:
    """`text`, and how far the value is from the reference's where that has room."""
    relative = format_relative(value, reference)
    has_room = relative != UNKNOWN and len(text) + 1 + len(relative) <= cells
    return f"{text} {relative}" if has_room else text


def num_more(watched: Sequence[Watched], width: int) -> int:
    """The number of runs that have no room for a column."""
    room = width - _key_width([*_differing_settings(watched)], width // 3)
    return max(0, len(watched) - max(1, room // (_MIN_COLUMN_WIDTH + len(_GAP))))


def in_words(view: RunView) -> str:
    """`2 of 61 set by you`, or `12 of 61 not by default` where sources are not known."""
    description = view.description
    if not description.settings:
        return ""
    if not description.has_defaults:
        return f"{len(description.settings)} keys"
    words = "set by you" if description.has_sources else "not by default"
    return f"{sum(map(_is_marked, description.settings))} of {len(description.settings)} {words}"


def _note_lines(view: RunView, width: int) -> list[Line]:
    notes = view.notes
    entries = {
        "id  ": view.status.run if notes.name else "",
        "tags": " ".join(f"#{tag}" for tag in notes.tags),
        "note": notes.note,
        "archived": "lists leave it out" if notes.is_archived else "",
    }
    lines: list[Line] = []
    for key, text in entries.items():
        if text:
            lines += _setting_lines(Setting(key, text), len(key), width, " ", "dim", "text")
    return lines


def _setting_lines(
    setting: Setting, key_width: int, width: int, mark: str, key_style: str, style: str
) -> list[Line]:
    """The lines of a setting; a long value takes several."""
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
    """The keys with different values, each with one text per run."""
    configs = comparable([one.view.description for one in watched])
    keys = dict.fromkeys(key for settings in configs for key in settings)
    table = {key: [settings.get(key, UNKNOWN) for settings in configs] for key in keys}
    return {key: texts for key, texts in table.items() if len(set(texts)) > 1}


def _differing_metrics(watched: Sequence[Watched]) -> dict[str, tuple[list[str], frozenset[int]]]:
    """The newest values that differ as displayed, and the numbers of the best runs."""
    newest = [one.view.newest for one in watched]
    schema = {metric.name: metric for one in reversed(watched) for metric in one.view.schema}
    names = dict.fromkeys(name for values in newest for name in values)
    table = {}
    for name in sorted(names, key=lambda name: _better(schema.get(name)) == 0):
        values = [values.get(name, math.nan) for values in newest]
        texts = [format_written(value) for value in values]
        if len(set(texts)) > 1:
            best = _best(values, _better(schema.get(name)))
            # A run whose text equals the best value's text is among the best.
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


class ConfigPanel(ScrollingPane):
    """The configuration of the run by source, what you set first; of several runs above it a table
    of the keys and the newest values that differ.
    """

    KEYS = ()
    starts_at = TOP
    excuse = "nothing is known of its configuration"

    def __init__(self) -> None:
        super().__init__(id="config")
        self._watched: tuple[Watched, ...] = ()
        self._known: tuple[object, ...] = ()
        self._texts: tuple[list[Line], list[Line]] = ([], [])

    def show(self, watched: Sequence[Watched]) -> None:
        """Draw what is known of the runs, the first of which the screen is about."""
        self._watched = tuple(watched)
        if self.display:
            self.redraw()

    def head(self, width: int) -> list[Line]:
        return self._parts(width)[0]

    def texts(self, width: int) -> list[Line]:
        return self._parts(width)[1]

    def _parts(self, width: int) -> tuple[list[Line], list[Line]]:
        """The lines that stay and those that scroll, computed again once there is news."""
        views = [one.view for one in self._watched]
        known = (width, *((id(v.description), v.notes, v.publish, v.status.run) for v in views))
        if known != self._known:
            self._known, self._texts = known, self._computed(width)
        return self._texts

    def _computed(self, width: int) -> tuple[list[Line], list[Line]]:
        if not self._watched:
            return [], []
        view = self._watched[0].view
        own = own_lines(view, width)
        if len(self._watched) == 1:
            return [], own
        head, table = difference_lines(self._watched, width)
        return head, [*table, [], [(f"all of {view.name}", "dim")], *own]

    def title(self, num_found: int, num_below: int, width: int) -> Line:
        title: Line = [("configuration", "text")]
        words = in_words(self._watched[0].view) if self._watched else ""
        if len(self._watched) > 1:
            words = f"where {len(self._watched)} runs differ"
            more = num_more(self._watched, width - 4)
            words += f", {more} of them without room" if more else ""
        if self.words:
            title += super().title(num_found, 0, width)[1:]
        elif words and line_width(title) + len(words) + 8 <= width:
            title.append((f"  {words}", "dim"))
        return title
