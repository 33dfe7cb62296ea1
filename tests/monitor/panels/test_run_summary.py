"""The head of a run's screen says the numbers everybody asks for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from views import RUN_ID, make_history, make_view, silent_view, texts

from operant.monitor.panels.run_summary import draw_notice, draw_numbers, draw_progress, draw_title
from operant.monitor.render.lines import line_width
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import Metric
from operant.shared.runs.status import RunStatus


def test_name_state_and_age_stand_in_the_first_row():
    (title,) = texts([draw_title(make_view(age_s=12.3), 80)])
    assert title.startswith(f" {RUN_ID} ")
    assert title.endswith("● running · 12s ago ")


def test_a_long_name_gives_way_to_the_state():
    (title,) = texts([draw_title(make_view(), 40)])
    assert len(title) == 40
    assert "running" in title
    assert "k3f9" in title


def test_numbers_keep_their_places():
    few, many = (texts([draw_numbers(make_view(num_rows=n), 80)])[0] for n in (20, 20_000))
    assert few.index("env steps") == many.index("env steps")
    assert "return" in few
    assert "iteration 20" in few


def test_progress_has_a_bar_a_share_and_both_times():
    (line,) = texts([draw_progress(make_view(), 80)])
    assert line.endswith("60.0%  20s elapsed, 1m 20s left ")
    assert 0.55 < line.count("━") / (line.count("━") + line.count("─")) < 0.65


def test_an_ended_run_says_how_long_it_ran():
    assert texts([draw_progress(make_view("finished"), 80)])[0].endswith("ran 20s ")


@pytest.mark.parametrize("width", [0, 5, 20, 60, 200])
def test_every_row_fits(width):
    for view in (make_view(), make_view("crashed", "gone"), silent_view()):
        for draw in (draw_title, draw_numbers, draw_progress):
            assert line_width(draw(view, width)) <= max(width, 40)


def test_only_what_needs_attention_has_a_notice():
    assert draw_notice(make_view(), 80) is None
    assert "stalled" in texts([draw_notice(make_view("stalled", age_s=30.0), 80)])[0]
    full = replace(make_view(), num_rejected=3)
    assert "the page is full: 3 metrics" in texts([draw_notice(full, 80)])[0]


def test_a_loop_of_ones_own_shows_what_every_page_has():
    history = make_history({"loss": np.ones(50)})
    status = RunStatus(RUN_ID, "running", age_s=0.1, metrics={"loss": 1.0})
    view = RunView(status, history, (Metric("loss"),), publish=50)
    (line,) = texts([draw_numbers(view, 80)])
    assert "publishes/s 10.0" in line
    assert "publishes 50" in line
    assert "return" not in line
