"""A sweep as lines: its trials, best first, and which parameters matter."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ...shared.runs.sweep_folder import SweepState
from ...shared.runs.sweep_table import SweepTable, SweepTrial, TrialState
from ..panels.run_summary import draw_bar
from ..render.formatting import format_percent, format_value
from ..render.lines import Line, fit, fit_line, fit_middle, line_width

UNFINISHED = "unfinished"  # a running trial of a sweep that nobody runs
_LOOKS = {
    "waiting": ("○", "dim"),
    "running": ("●", "good"),
    UNFINISHED: ("○", "quiet"),
    "finished": ("✓", "done"),
    "pruned": ("■", "quiet"),
    "failed": ("✗", "error"),
}
_STATE_WIDTH, _DONE_WIDTH, _VALUE_WIDTH = 12, 7, 12
_NUMBER_WIDTH = 4 + 4 + 1  # with the marks before it
_MIN_SCORE_WIDTH, _MAX_SCORE_WIDTH, _WIDE = 9, 20, 100
_MIN_MESSAGE_WIDTH, _KEY_WIDTH, _BAR_WIDTH = 12, 34, 20
BEST = "★"


def ranked(table: SweepTable, order: str = "score") -> list[SweepTrial]:
    """The trials by `order`: those that go on first and then the best by score, or by number."""
    if order == "number":
        return sorted(table.trials, key=lambda trial: trial.number)
    is_up = table.objectives[0].is_maximized

    def place(trial: SweepTrial) -> tuple[int, bool, bool, float, int]:
        score = trial.scores[0] if trial.scores else math.nan
        groups = ("running", "finished", "pruned", "waiting", "failed")
        has_none = math.isnan(score)
        key = 0.0 if has_none else (-score if is_up else score)
        return groups.index(trial.state), not trial.is_best, has_none, key, trial.number

    return sorted(table.trials, key=place)


def summary(table: SweepTable, state: SweepState, width: int = 1000) -> str:
    """`running, 12 of 40 trials, 3 pruned, 1 failed; best evaluation/return 487.3`, or the first
    part of it in at most `width` cells.
    """
    num_ended = table.count("finished", "pruned", "failed")
    parts = [state, f"{num_ended} of {max(table.num_wanted, len(table.trials))} trials"]
    for name in ("running", "waiting", "pruned", "failed"):
        if count := table.count(name):
            parts.append(f"{count} {_word(name, state)}")
    texts = [", ".join(parts), ", ".join(parts[:2])]
    best = table.best()
    if len(table.objectives) > 1 and best:
        texts.insert(0, f"{texts[0]}; {len(best)} on the Pareto front")
    elif best and best[0].scores:
        score = format_value(best[0].scores[0])
        texts.insert(0, f"{texts[0]}; best {table.objectives[0].metric} {score}")
        texts.insert(1, f"{texts[-1]}; best {score}")
    return next((text for text in texts if len(text) <= width), state)


def draw_head(table: SweepTable, width: int) -> Line:
    """The names of the columns."""
    keys, key_width = columns_of(table, width)
    line: Line = [(fit("  trial  state", _NUMBER_WIDTH + _STATE_WIDTH), "dim")]
    for objective, cells in zip(table.objectives, score_widths(table, width), strict=True):
        arrow = "↑" if objective.is_maximized else "↓"
        name = _short(objective.metric, cells - 1)
        line.append((f" {fit(name + arrow, cells, '>')}", "dim"))
    line.append((fit("done", _DONE_WIDTH, ">"), "dim"))
    for key in keys:
        line.append((f" {fit(_short(key, key_width), key_width, '>')}", "dim"))
    return fit_line(line, width, "dim")


def draw_trial(
    trial: SweepTrial, table: SweepTable, state: SweepState, width: int, is_selected: bool = False
) -> Line:
    """One trial of a sweep in `state`: its number, state and scores, and as many of its values as
    there is room for.
    """
    prefix = "cursor_" if is_selected else ""
    keys, key_width = columns_of(table, width)
    word = _word(trial.state, state)
    symbol, style = _LOOKS[word]
    score_style = f"{prefix}{'strong' if trial.state == 'finished' else 'dim'}"
    line: Line = [
        ("▌" if is_selected else " ", f"{prefix}focus"),
        (BEST if trial.is_best else " ", f"{prefix}focus"),
        (f" {trial.number:>4}  ", f"{prefix}text"),
        (f"{symbol} {fit(word, _STATE_WIDTH - 2)}", f"{prefix}{style}"),
    ]
    for text, cells in zip(_scores(trial, table), score_widths(table, width), strict=True):
        line.append((f" {fit(text, cells, '>')}", score_style))
    done = format_percent(trial.done) if word == "running" else ""
    line.append((fit(done, _DONE_WIDTH, ">"), f"{prefix}dim"))
    for key in keys:
        text = _value(trial.values.get(key))
        line.append((f" {fit(text, key_width, '>')}", f"{prefix}text"))
    room = width - line_width(line) - 2
    if trial.message and room >= _MIN_MESSAGE_WIDTH:
        line.append((f"  {fit(trial.message, room)}", f"{prefix}dim"))
    return fit_line(line, width, f"{prefix}text")


def columns_of(table: SweepTable, width: int) -> tuple[list[str], int]:
    """The keys that have a column, those that matter most first, and how wide one is."""
    scores = sum(1 + cells for cells in score_widths(table, width))
    room = width - _NUMBER_WIDTH - _STATE_WIDTH - scores - _DONE_WIDTH
    keys = table.by_importance()
    num_shown = min(len(keys), max(1, room // (1 + _VALUE_WIDTH)))
    longest = max((len(key) for key in keys[:num_shown]), default=_VALUE_WIDTH)
    return keys[:num_shown], max(4, min(longest, room // num_shown - 1, 24))


def score_widths(table: SweepTable, width: int) -> list[int]:
    """How wide each objective's column is: its whole name, on a screen that is wide enough."""
    most = _MAX_SCORE_WIDTH if width >= _WIDE else _MIN_SCORE_WIDTH
    return [min(max(len(o.metric) + 1, _MIN_SCORE_WIDTH), most) for o in table.objectives]


def draw_importances(table: SweepTable, width: int) -> list[Line]:
    """A bar for each key and objective: what share of the differences it explains."""
    known = table.importances or {}
    lines: list[Line] = []
    for objective in table.objectives:
        shares = known.get(objective.metric)
        if not shares:
            continue
        lines.append([(f" what matters for {objective.metric}", "dim")])
        for key in sorted(shares, key=lambda key: -shares[key]):
            name = fit(fit_middle(key, _KEY_WIDTH), min(_KEY_WIDTH, max(8, width - 34)))
            share = min(max(shares[key], 0.0), 1.0)
            bar = draw_bar(share, _BAR_WIDTH, "focus")
            lines.append([(f"   {name} ", "text"), *bar, (f" {format_percent(share)}", "dim")])
    return lines


def draw_values(trial: SweepTrial, table: SweepTable, width: int) -> list[Line]:
    """All of one trial: every value, why it ended, its runs."""
    lines: list[Line] = []
    for row in _wrapped(
        [f"{key}={_value(trial.values.get(key))}" for key in table.parameters], width - 2
    ):
        lines.append([(f" {row}", "text")])
    if trial.message:
        lines.append([(f" {fit_middle(trial.message, width - 2)}", "warning")])
    if trial.runs:
        lines.append([(f" {fit_middle('  '.join(trial.runs), width - 2)}", "dim")])
    return lines


def _word(trial_state: TrialState, state: SweepState) -> str:
    """A trial's state as people read it, where that of the sweep is `state`."""
    return UNFINISHED if trial_state == "running" and state != "running" else trial_state


def _scores(trial: SweepTrial, table: SweepTable) -> Sequence[str]:
    if trial.scores is not None:
        return [format_value(score) for score in trial.scores]
    blank = ["" for _ in table.objectives]
    if trial.latest is not None:
        blank[0] = format_value(trial.latest)
    return blank


def _value(value: object) -> str:
    if isinstance(value, float):
        return format_value(value)
    return "" if value is None else str(value)


def _short(name: str, width: int) -> str:
    """A name in at most `width` cells: without its group where that helps, else its end, which is
    where the names of one table differ.
    """
    if len(name) > width:
        name = re.split(r"[/.]", name)[-1]
    return name if len(name) <= width else f"…{name[len(name) - width + 1 :]}" if width > 1 else ""


def _wrapped(words: Sequence[str], width: int) -> list[str]:
    rows = [""]
    for word in words:
        if rows[-1] and len(rows[-1]) + 2 + len(word) > width:
            rows.append("")
        rows[-1] += ("  " if rows[-1] else "") + word
    return rows
