"""Every style exists for every kind of terminal, and colours stay put."""

from __future__ import annotations

from operant.monitor.render.palette import DARK, series_of_group, series_of_phase, styles_for


def test_all_terminals_have_the_same_styles():
    assert styles_for("truecolor").keys() == styles_for("256").keys() == styles_for(None).keys()


def test_the_range_behind_a_curve_is_dim_in_256_colours_too():
    color = styles_for("256")["series1_dim"].color
    assert color
    red, green, blue = color.get_truecolor()
    assert red == green == blue < 100


def test_the_rest_of_an_iteration_has_a_colour_of_its_own():
    places = {phase: series_of_phase(phase) for phase in ("collect", "learn", "evaluate", "other")}
    assert len({DARK.series[place] for place in places.values()}) == len(places)


def test_a_group_keeps_its_colour_and_any_name_has_one():
    assert series_of_group("loss") != series_of_group("policy")
    for name in ("mine", "", "a\ud800", "日本"):
        assert series_of_group(name) == series_of_group(name) < len(DARK.series)
        assert series_of_phase(name) < len(DARK.series)
