"""Rules say when an alert is due, or in one line why they are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.errors import ConfigError
from operant.shared.runs.alert_rule import MOST_RULES, parse_rule, parse_rules


def test_a_rule_says_what_is_compared_with_what_and_from_when():
    rule = parse_rule("  episode/return<1.5k   after 2M env steps ")
    assert (rule.metric, rule.how, rule.limit) == ("episode/return", "<", 1500.0)
    assert rule.after_env_steps == 2e6
    assert rule.text == "episode/return<1.5k after 2M env steps"
    assert rule.holds(1499.0, 2_000_000)
    assert not rule.holds(1499.0, 1_999_999)
    assert not rule.holds(1499.0, -1)  # the run counts none
    assert not rule.holds(1500.0, 3_000_000)


def test_at_the_limit_only_rules_that_say_so_hold():
    held = [how for how in ("<", "<=", ">", ">=") if parse_rule(f"x {how} 3").holds(3.0, -1)]
    assert held == ["<=", ">="]


def test_a_metric_goes_by_its_name_or_by_its_end():
    names = ("loss/value", "episode/return", "evaluation/return", "own", "x after y")
    asked = ("evaluation/return", "return", "own", "x after y", "value", "lue", "loss/x")
    found = [parse_rule(f"{name} > 1").metric_of(names) for name in asked]
    assert found == [
        "evaluation/return", "episode/return", "own", "x after y", "loss/value", None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no comparison; write it as loss/value > 1e3"),
        ("> 3", "names no metric"),
        ("x == 3", "expected one of >, <, >=, <="),
        ("x >", "there is no number"),
        ("x > high", "'high' is not a number"),
        ("x > 10m", "'10m' is not a number"),
        ("x > 3 after", "after 'nothing' is not a number of env steps"),
        ("x > 3 after lunch", "after 'lunch' is not a number of env steps, as 1M or 1e6"),
        ("x > 3 after -1", "after '-1' is not a number of env steps"),
        (f"{'x' * 400} > 1", "has 404 characters; 300 are allowed"),
    ],
)
def test_what_is_no_rule_is_said_in_a_line(text, problem):
    with pytest.raises(ConfigError) as error:
        parse_rule(text)
    assert str(error.value).startswith("alert rule '")
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_of_many_rules_those_that_are_none_are_told():
    rules, problems = parse_rules(["a > 1", "a  > 1", "b", "c < 2"])
    assert [rule.text for rule in rules] == ["a > 1", "c < 2"]
    assert len(problems) == 1
    rules, problems = parse_rules([f"a > {number}" for number in range(MOST_RULES + 5)])
    assert len(rules) == MOST_RULES
    assert problems == ["105 alert rules; the first 100 of them hold"]


@given(st.text(max_size=400))
def test_any_text_is_a_rule_or_a_line(text):
    rules, problems = parse_rules([text])
    assert len(rules) + len(problems) == 1
    assert all(line.isprintable() for line in problems)
