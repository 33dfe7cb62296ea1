"""Whatever a page says, what reaches the screen is harmless and fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from operant.monitor.render.lines import boxed, fit, fit_line, fit_middle, line_width, spread
from operant.shared.text.harmless import harmless


def test_control_characters_become_spaces_and_markup_stays_text():
    assert harmless("[red]a[/] \x1b[31mb\x07\n\tc\x9b") == "[red]a[/]  [31mb   c "
    assert harmless("abc\u202edcb\u2066") == "abc dcb "


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text):
    assert harmless(text).isprintable()
    assert len(harmless(text)) == len(text)


@given(st.text(max_size=40), st.integers(0, 30), st.sampled_from("<>"))
def test_fitted_text_takes_the_room_it_is_given(text, width, align):
    assert cell_len(fit(text, width, align)) == width


def test_text_is_filled_up_or_its_end_is_cut():
    assert [fit("abc", 5), fit("abc", 5, ">"), fit("abcdef", 4)] == ["abc  ", "  abc", "abc…"]


@given(st.text(max_size=60), st.integers(0, 30))
def test_a_cut_name_fits(text, width):
    assert cell_len(fit_middle(text, width)) <= width


def test_a_long_name_loses_its_middle():
    name = "20261121-142530-cart_pole-ppo-k3f9"
    assert fit_middle(name, 40) == name
    assert fit_middle(name, 16) == "20261…ole-ppo-k3f9"[0:5] + "…" + name[-10:]


@given(st.sets(st.text("ab/_", min_size=1, max_size=12), min_size=2), st.integers(0, 9))
def test_a_name_that_is_cut_takes_the_room_it_is_given_whatever_the_others_are(names, width):
    for name in names:
        assert line_width([(fit_middle(name, width, tuple(names)), "text")]) <= width


def test_names_are_cut_where_they_differ():
    one, other = "speed/average_env_steps_per_s", "speed/agent_env_steps_per_s"
    assert fit_middle(one, 20, ["loss/value"]) == fit_middle(one, 20) == fit_middle(other, 20)
    assert fit_middle(one, 20, [other]) == "speed/av…steps_per_s"
    assert fit_middle(other, 20, [one]) == "speed/ag…steps_per_s"


@given(st.lists(st.tuples(st.text(max_size=9), st.just("text")), max_size=5), st.integers(0, 30))
def test_a_fitted_line_takes_the_room_it_is_given(line, width):
    assert line_width(fit_line(line, width, "text")) == width


def test_two_ends_of_a_line_stand_apart_until_there_is_no_room():
    left, right = [("ab", "text")], [("cd", "text")]
    assert "".join(text for text, _ in spread(left, right, 6)) == "ab  cd"
    assert "".join(text for text, _ in spread(left, right, 3)) == "ab "


@pytest.mark.parametrize("width", [4, 20, 33])
@pytest.mark.parametrize("height", [2, 5])
def test_a_box_has_its_size(width, height):
    for words in ("x", "x" * 40):
        lines = boxed([(words, "text")], [[(words, "text")]], max(width, 8), height, "border")
        assert len(lines) == height
        assert {line_width(line) for line in lines} == {max(width, 8)}
