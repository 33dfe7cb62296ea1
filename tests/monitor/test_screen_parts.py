"""Small pure parts of a run's screen: which panes fit, ASCII, what publishing costs, looks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from views import NOON_NS, SCHEMA, make_history, make_view, training_curves

from operant.monitor.charts.options import ChartOptions
from operant.monitor.charts.shown_run import NUM_LOOKS, assigned_looks
from operant.monitor.panels.event_lines import failure_events
from operant.monitor.panels.pane_layout import PANES, shown_panes, toggled
from operant.monitor.panels.phases import phases_over_time, recent_phases
from operant.monitor.panels.publish_cost import publish_cost
from operant.monitor.render.ascii import ascii_text, needs_ascii
from operant.monitor.runs.list.comparison import MAX_RUNS, Comparison
from operant.shared import Event, Metric
from operant.shared.console.console_file import time_text
from operant.shared.runs.run_folder import Run

wanted = st.lists(st.sampled_from(PANES), unique=True).map(tuple)


@given(wanted, st.lists(st.sampled_from(PANES[1:])), st.integers(1, 300), st.integers(1, 80))
def test_there_is_always_a_pane_and_none_that_nobody_wants(wanted, empty, width, height):
    shown = shown_panes(wanted, empty, width, height)
    assert shown
    assert set(shown) <= {*wanted, "charts"}
    assert len([pane for pane in shown if pane != "charts"]) <= max(1, width // 38)


def test_the_latest_choice_has_room_before_others():
    assert shown_panes(("charts", "time", "events"), (), 60, 24) == ("charts", "time")
    assert shown_panes(toggled(("charts", "time"), "console", False), (), 60, 24) == (
        "charts",
        "console",
    )
    assert toggled(("charts", "console"), "console", True) == ("charts",)
    assert shown_panes(("charts", "events"), (), 80, 12) == ("charts",)


def test_a_run_without_metrics_has_its_console_in_place_of_charts():
    assert shown_panes(("charts", "events", "time"), ("charts", "time"), 80, 24) == (
        "events",
        "console",
    )


@given(st.text())
def test_ascii_takes_as_many_cells(text):
    shown = ascii_text(text)
    assert shown.isascii()
    if text.isprintable():
        assert cell_len(shown) == cell_len(text)


def test_curves_in_ascii_go_where_they_went():
    assert ascii_text("⣀⡤⠖⠋") == "__-'"
    assert ascii_text("┈⠤┈⠒") == ".-.-"
    assert ascii_text("⡇ ╭─╮") == "| +-+"


def test_ascii_is_for_terminals_that_need_it():
    assert needs_ascii("latin-1", {})
    assert needs_ascii("utf-8", {"LC_ALL": "C"})
    assert not needs_ascii("UTF-8", {})


def test_publishing_costs_what_the_run_says_it_costs():
    columns = training_curves(100) | {"time/publish_s": np.full(100, 10e-6)}
    view = make_view()
    cost = publish_cost(type(view)(view.status, make_history(columns), SCHEMA, publish=100))
    assert cost.seconds == pytest.approx(10e-6)
    assert cost.fraction == pytest.approx(1e-4)  # ten a second
    assert cost.in_words() == "100 publishes, 10.0µs each, 0.01% of the time"
    assert publish_cost(view).in_words() == "200 publishes"


def test_a_run_keeps_its_look_while_others_come_and_go():
    looks = assigned_looks(["a", "b", "c"], {})
    assert len({look.place for look in looks.values()}) == 3
    more = assigned_looks(["z", "c", "a"], looks)
    assert {name: more[name] for name in looks} == looks
    assert len(assigned_looks([str(i) for i in range(20)], {})) == 20
    assert len({look.place for look in assigned_looks("abcdefgh", {}).values()}) == NUM_LOOKS


def test_the_reference_and_the_marked_are_drawn_beside_the_open_run():
    runs = [Run(Path(f"/runs/{i}")) for i in range(12)]
    comparison = Comparison().with_toggled(runs[1], False).with_toggled(runs[2], True)
    assert comparison.beside(runs[0]) == [runs[2], runs[1]]
    assert comparison.beside(runs[1]) == [runs[2]]
    assert comparison.with_toggled(runs[1], False).beside(runs[0]) == [runs[2]]
    for run in runs[3:]:
        comparison = comparison.with_toggled(run, False)
    assert len(comparison.beside(runs[0])) == MAX_RUNS - 1
    assert comparison.num_left_out(runs[0]) == 11 - (MAX_RUNS - 1)
    assert comparison.num_left_out(runs[2]) == 10 - (MAX_RUNS - 1)
    assert Comparison((runs[1],)).num_left_out(runs[0]) == 0


def test_parts_of_a_phase_are_not_counted_twice():
    schema = [Metric(f"time/{name}_s") for name in ("collect", "inference", "learn")]
    values = {"time/collect_s": 3.0, "time/inference_s": 1.0, "time/learn_s": 1.0}
    history = make_history({name: np.full(40, value) for name, value in values.items()})
    fractions = {phase.name: phase.fraction for phase in recent_phases(schema, history)}
    assert fractions == pytest.approx({"collect": 0.5, "inference": 0.25, "learn": 0.25})
    columns = phases_over_time(schema, history, 7)
    assert columns.fractions.shape == (3, 7)
    assert columns.fractions.sum(axis=0) == pytest.approx(np.ones(7))


def test_a_traceback_that_was_only_printed_has_its_time():
    times = [time_text(NOON_NS + i * 10**9) for i in range(2)]
    texts = ("Traceback (most recent call last):", "ValueError: no")
    console = tuple(f"{time} {text}" for time, text in zip(times, texts, strict=True))
    view = replace(make_view("failed", "exit code 1"), console=console, events=())
    (event,) = failure_events(view)
    assert event.wall_ns == NOON_NS + 10**9


def test_a_failure_tells_its_whole_traceback_last():
    short = Event(9, 0, "error", "  in train\nValueError: no")
    console = (
        "Traceback (most recent call last):",
        "  many frames",
        "  in train",
        "ValueError: no",
    )
    view = make_view("failed", "ValueError: no")
    view = type(view)(
        view.status, view.history, view.schema, (short, *view.events), console=console
    )
    told = failure_events(view)
    assert told[-1].text == "\n".join(console)
    assert len(told) == len(view.events)
    assert failure_events(make_view("running")) is None
    assert failure_events(make_view("failed", "no")) is None


def test_resetting_charts_keeps_the_axis_and_the_filter():
    options = ChartOptions("iterations", smoothing=2, words=("loss",))
    options = options.with_log_toggled("y", "a").with_log_toggled("x", "a")
    assert options.reset() == ChartOptions("iterations", words=("loss",))
    assert options.with_log_toggled("y", "a").log_y == frozenset()
    assert options.with_full_toggled("a").reset().full_y == frozenset()
    by_time = options.with_next_count()
    assert by_time.x_count == "wall time"
    assert "over training time" in by_time.with_next_count().in_words()
    assert by_time.with_next_count().with_next_count().x_count == "env steps"
