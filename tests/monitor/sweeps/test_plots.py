"""Pictures of a sweep's trials."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sweeping import made_up_table

from operant.monitor.render.lines import line_width
from operant.monitor.sweeps.plots import (
    Scale,
    draw_history,
    draw_parallel,
    draw_slices,
    has_pictures,
)

DRAW = (draw_history, draw_slices, draw_parallel)


def text_of(lines):
    return "\n".join("".join(text for text, _ in line) for line in lines)


@pytest.mark.parametrize("draw", DRAW)
@pytest.mark.parametrize("size", [(1, 1), (8, 3), (30, 8), (80, 20), (200, 60)])
@pytest.mark.parametrize("num_trials", [4, 40])
def test_every_size_is_filled_and_no_wider(draw, size, num_trials):
    width, height = size
    lines = draw(made_up_table(num_trials), 0, width, height)
    assert all(line_width(line) <= width for line in lines)
    if height >= 8:
        assert len(lines) == height


def test_the_history_has_the_best_trial_and_the_ends_of_its_axes():
    table = made_up_table(40)
    shown = text_of(draw_history(table, 3, 100, 20))
    assert shown.count("★") == 1
    assert shown.count("●") == 1
    assert "100.0" in shown
    assert "460.0" in shown  # the best that finished: later ones run, were pruned or failed


def test_each_key_has_a_slice_and_an_axis():
    table = made_up_table(40)
    for draw in (draw_slices, draw_parallel):
        shown = text_of(draw(table, None, 120, 24))
        assert all(key in shown for key in table.parameters)
        assert "relu" in shown


def test_numbers_lie_by_size_or_logarithm_and_words_by_name():
    assert Scale([1, 3, 2]).share(2) == pytest.approx(0.5)
    assert Scale([1.7e308, -1.7e308]).share(0.0) == pytest.approx(0.5)
    assert Scale([0.01, 1.0, 0.1], is_log=True).share(0.1) == pytest.approx(0.5)
    assert [Scale(["b", "a", "c"]).share(name) for name in "abc"] == [0.0, 0.5, 1.0]
    assert Scale([True, False]).share(True) == 1.0
    assert Scale([5.0]).share(5.0) == 0.5
    assert Scale([8, 64]).ends() == ("8", "64")


def test_without_a_finished_trial_there_is_nothing_to_draw():
    table = made_up_table(40)
    assert has_pictures(table)
    unfinished = tuple(trial for trial in table.trials if trial.state != "finished")
    assert not has_pictures(replace(table, trials=unfinished))
