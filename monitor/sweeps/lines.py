"""A sweep as lines: its trials, best first, and which parameters matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from ...shared.runs.sweep_folder import SweepState
from ...shared.runs.sweep_table import SweepTable, SweepTrial, TrialState
from ..panels.run_summary import draw_bar
from ..render.columns import Column
from ..render.formatting import format_percent, format_value
from ..render.lines import Line, fit, fit_middle

UNFINISHED = "unfinished"  # a running trial of a sweep that nobody runs
_LOOKS = {
    "waiting": ("○", "dim"),
    "running": ("●", "good"),
    UNFINISHED: ("○", "quiet"),
    "finished": ("✓", "done"),
    "pruned": ("■", "quiet"),
    "failed": ("✗", "error"),
}
_MAX_SCORE_WIDTH = 20
_KEY_WIDTH, _BAR_WIDTH = 34, 20
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


def trial_columns(table: SweepTable, state: SweepState) -> list[Column[SweepTrial]]:
    """Number, state and scores of the trials of a sweep in `state`, then the values of the keys,
    those that matter most first.
    """

    def score(trial: SweepTrial, place: int) -> str:
        if trial.scores is not None:
            return format_value(trial.scores[place])
        return format_value(trial.latest) if trial.latest is not None and not place else ""

    def draw_score(trial: SweepTrial, width: int, place: int) -> Line:
        style = "strong" if trial.state == "finished" else "dim"
        return [(fit(score(trial, place), width, ">"), style)]

    def draw_state(trial: SweepTrial, width: int) -> Line:
        symbol, style = _LOOKS[_word(trial.state, state)]
        return [(f"{symbol} {_word(trial.state, state)}", style)]

    def done(trial: SweepTrial) -> str:
        return format_percent(trial.done) if _word(trial.state, state) == "running" else ""

    scores = [
        Column[SweepTrial](
            f"{objective.metric}{'↑' if objective.is_maximized else '↓'}",
            partial(score, place=place), 9, min(len(objective.metric) + 1, _MAX_SCORE_WIDTH), -1,
            ">", order="score", draw=partial(draw_score, place=place),
        )
        for place, objective in enumerate(table.objectives)
    ]  # fmt: skip
    values = [
        Column[SweepTrial](key, partial(_value_of, key=key), _least_width(key), len(key), place,
                           ">", order="score")
        for place, key in enumerate(table.by_importance(), 1)
    ]  # fmt: skip
    return [
        Column("trial", lambda trial: f"{BEST if trial.is_best else ' '}{trial.number:>4}", 5,
               align=">", order="number"),
        Column("state", lambda trial: _word(trial.state, state), 12, order="score",
               draw=draw_state),
        *scores,
        Column("done", done, 6, align=">", style="dim", order="score"),
        *values,
        Column("message", lambda trial: trial.message, 12, 200, len(values) + 1,
               style="dim"),
    ]  # fmt: skip


def _least_width(key: str) -> int:
    """The width of the last part of a key, within limits."""
    return min(max(len(key.rpartition(".")[2]), 9), 16)


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


def _value_of(trial: SweepTrial, key: str) -> str:
    return _value(trial.values.get(key))


def _value(value: object) -> str:
    if isinstance(value, float):
        return format_value(value)
    return "" if value is None else str(value)


def _wrapped(words: Sequence[str], width: int) -> list[str]:
    rows = [""]
    for word in words:
        if rows[-1] and len(rows[-1]) + 2 + len(word) > width:
            rows.append("")
        rows[-1] += ("  " if rows[-1] else "") + word
    return rows
