"""Filters leave the runs that were meant, and say in one line what they do not understand."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import all_states, make_row

from operant.monitor.runs.list.filter_terms import FilterError, parse_filter
from operant.monitor.runs.list.run_filter import filtered
from operant.monitor.runs.list.runs_poller import RunRow
from operant.shared.runs.run_notes import RunNotes

ROWS = [
    replace(row, device="cuda" if i % 2 else "cpu", config=config)
    for i, (row, config) in enumerate(
        zip(
            [
                make_row(
                    "cart_pole-aaaa",
                    "running",
                    metrics={"episode/return": 480.0, "loss/value": 7.0},
                ),
                make_row(
                    "lander-bbbb", "running", age_s=None, metrics={"loss/value": float("nan")}
                ),
                make_row(
                    "lander-cccc", "stalled", metrics={"episode/return": -20.0, "loss/value": 1.0}
                ),
            ],
            [
                {"env": "cart_pole", "ppo.learning_rate": 3e-4, "ppo.gamma": 0.99},
                {
                    "env": "lander",
                    "ppo.learning_rate": 1e-3,
                    "ppo.gamma": 0.99,
                    "hidden_sizes": [64, 64],
                },
                {"env": "lander", "ppo.learning_rate": 2e-3, "ppo.target_kl": 0.02},
            ],
            strict=True,
        )
    )
]


def names(text: str, rows=ROWS) -> str:
    """The last letters of the runs that are left."""
    return "".join(row.run.id[-1] for row in filtered(rows, parse_filter(text)))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", "abc"),
        ("lander", "bc"),
        ("LANDER -bbbb", "c"),
        ("state:running", "ab"),
        ("-state:running", "c"),
        ("device:cuda", "b"),
        ("return>400", "a"),
        ("learning_rate<1e-3", "a"),
        ("env!=cart_pole", "bc"),
        ("gamma=0.99 lander", "b"),
        ("target_kl:0.02", "c"),
        ("steps>1e5 done<60", "abc"),
        ("'cart_pole'", "a"),
        ("return> 400 env : cart", "a"),
        ("env:cart", "a"),
        ("env=cart", ""),
        ("env=cart_pole,lander", "abc"),
        ("steps>=1M", "abc"),
        ("speed>1.2M speed<1.3e6", "abc"),
        ("done<=50%", "abc"),
        ("/^lander-[bx]/", "b"),
        ("~LANDER-c", "c"),
        (r"name~\d{6}-lander", "bc"),
        ("env!=/^cart/", "bc"),
        ("cart or state:stalled", "ac"),
        ("lander return>-30 or return>400", "ac"),
        ("loss/value<5", "c"),
        ("value<5", "c"),
        ("'loss/value' >= 5", "a"),
        ("-loss/value<5", "ab"),
        ("hidden_sizes:'[64, 64]'", "b"),
    ],
)
def test_terms_hold_all_at_once(text, left):
    assert names(text) == left


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("state:runing", "did you mean 'running'"),
        ("return>high", "does not compare numbers"),
        ("env:", "needs a value"),
        ("ppo.lerning_rate>1", "did you mean 'ppo.learning_rate'"),
        ("'open", "has no closing quotation mark"),
        ("env>3", "'env' is a word"),
        ("nothing>3", "no run has 'nothing'"),
        ("name~[", "is no regular expression"),
        ("name~a{99999999999}", "is no regular expression"),
        (f"name~{'(' * 5000}{')' * 5000}", "is no regular expression"),
        ("return~4", "is a number"),
        (">5", ">5 is not understood"),
        ("a|b", "is not understood"),
        ("cart or", "the last 'or' has no term"),
        ("~", "is not understood"),
        ("//", "needs a value"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text, says):
    with pytest.raises(FilterError, match=says) as error:
        names(text)
    assert "\n" not in str(error.value)


def test_what_runs_have_that_were_not_looked_at_yet_may_still_come():
    unread = RunRow(make_row("new", "running").run)
    assert names("nothing>3", [*ROWS, unread]) == ""
    with pytest.raises(FilterError, match="no run has 'nothing'"):
        names("nothing>3", ROWS)


def test_without_any_configuration_a_key_is_no_silent_miss():
    with pytest.raises(FilterError, match="no run has 'learning_rate'"):
        names("learning_rate>1", [make_row("a", "running")])


def test_every_state_can_be_asked_for():
    rows = all_states().rows
    words = ["starting", "running", "stalled", "finished", "stopped", "crashed", "failed"]
    assert [len(filtered(rows, parse_filter(f"state:{word}"))) for word in words] == [1] * 7


@given(st.text(max_size=30))
def test_whatever_is_typed_gives_runs_or_one_line(text):
    with contextlib.suppress(FilterError):
        left = filtered(ROWS, parse_filter(text))
        assert set(map(id, left)) <= set(map(id, ROWS))


def test_a_run_is_found_by_all_of_its_name_of_which_its_id_has_a_part():
    rows = [replace(ROWS[0], given_name="sweep-of-the-learning-rate"), *ROWS[1:]]
    assert names("the-learning", rows) == "a"
    assert names("name:the-learning -lander", rows) == "a"


def test_a_number_that_no_float_holds_is_a_word():
    rows = [replace(ROWS[0], config={"x": 10**400})]
    assert (names("x:1", rows), names("x=1", rows)) == ("a", "")
    with pytest.raises(FilterError, match="'x' is a word"):
        names("x>1", rows)


def test_what_python_says_about_expressions_of_the_future_is_not_said(recwarn):
    assert names("~[[a]aaa") == "a"
    assert names("env~[[c]art") == "a"
    assert not recwarn.list


@pytest.mark.parametrize("text", ["/a!/", "config_key~a!"])
def test_an_expression_is_searched_for_in_the_first_200_characters(text):
    for length, found in ((199, "a"), (200, "")):
        long = "a" * (length - 1) + "a!"
        row = replace(ROWS[0], config={"config_key": long}, notes=RunNotes(long, "", ()))
        assert names(text, [row]) == found


def test_steps_are_found_by_the_name_that_charts_have_for_them():
    assert names("env_steps>=0") == names("steps>=0") != ""
