"""Parsing a sweep's parameters; an invalid one gives a one-line error."""

from __future__ import annotations

import pytest

from operant.commands.sweep.definition import loader_of
from operant.commands.sweep.parameters import (
    Parameter,
    check_parameters,
    parse_parameter,
    parse_parameters,
    split_commas,
    suggestion_of,
)
from operant.shared.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x=0.1:0.9", Parameter("x", 0.1, 0.9)),
        ("x=log:1e-4:1e-2", Parameter("x", 1e-4, 1e-2, is_log=True)),
        ("x=int:1:8", Parameter("x", 1.0, 8.0, is_whole=True)),
        ("x=int:log:16:4096", Parameter("x", 16.0, 4096.0, is_whole=True, is_log=True)),
        ("x=tanh, relu", Parameter("x", choices=("tanh", "relu"))),
        ("x=[64,64],[128]", Parameter("x", choices=("[64,64]", "[128]"))),
        ("env=gymnasium:A-v1,gymnasium:B-v1",
         Parameter("env", choices=("gymnasium:A-v1", "gymnasium:B-v1"))),
    ],
)  # fmt: skip
def test_ranges_and_choices_are_understood(text, expected):
    found = parse_parameter(text)
    assert repr(found) == repr(expected)  # NaN is not equal to itself


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x", "write KEY=LOW:HIGH"),
        ("x=3", "one value is not a range; use --set x=3"),
        ("x=a:2", "a is not a number"),
        ("x=1:inf", "inf is not a finite number"),
        ("x=2:1", "2 is not below 1"),
        ("x=log:0:1", "must begin above 0"),
        ("x=int:1:2.5", "whole numbers"),
        ("x=log:log:1:2", "'log' is given twice"),
        ("x=a,,b", "a value between two commas is empty"),
    ],
)
def test_what_is_no_range_is_said(text, complaint):
    with pytest.raises(UsageError) as caught:
        parse_parameter(text)
    assert complaint in str(caught.value)
    assert f"--param {text}" in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "overrides", "complaint"),
    [
        ((), (), "a sweep needs --param"),
        (("x=1:2", "x=3:4"), (), "--param x is given twice"),
        (("x=1:2",), ("x=1",), "x is given with --set and with --param"),
        (("seed=int:1:9",), (), "--seeds N"),
    ],
)
def test_keys_are_given_once(texts, overrides, complaint):
    with pytest.raises(UsageError, match=complaint):
        parse_parameters(texts, overrides)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ppo.lerning_rate=0.1:0.2", "did you mean 'ppo.learning_rate'"),
        ("ppo.learning_rate=0.1:2", "ppo.learning_rate = 2.0"),  # at most 1
        ("ppo.num_epochs=1:8", "--param ppo.num_epochs=int:1:8 would draw whole numbers"),
        ("policy.activation=tanh,gelu", "gelu"),
        ("sac.tau=0.1:0.2", "sac"),
    ],
)
def test_both_ends_must_hold(text, complaint):
    with pytest.raises(UsageError) as caught:
        check_parameters(loader_of("cart_pole_ppo", ()), [parse_parameter(text)])
    assert complaint in str(caught.value)
    assert str(caught.value).startswith("--param ")


def test_what_holds_is_loaded_at_its_ends():
    found = check_parameters(
        loader_of("cart_pole_ppo", ()),
        map(parse_parameter, ("ppo.num_epochs=int:1:8", "policy.hidden_sizes=[8],[16,16]")),
    )
    assert [config.ppo.num_epochs for config in found[:2]] == [1, 8]
    assert [config.policy.hidden_sizes for config in found[2:]] == [(8,), (16, 16)]


PARAMETERS = tuple(
    map(parse_parameter, ("a.rate=log:1e-4:1e-2", "a.epochs=int:1:8", "a.act=tanh,[8, 8]"))
)


def test_a_suggestion_is_read_as_the_range_has_it():
    values = suggestion_of(["rate=0.001", "a.epochs=3.0", "a.act=[8,8]"], PARAMETERS)
    assert values == {"a.rate": 0.001, "a.epochs": 3, "a.act": "[8, 8]"}
    assert isinstance(values["a.epochs"], int)


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ([], "at least one value"),
        (["a.rat=1"], "not a parameter of this sweep; did you mean 'a.rate'"),
        (["a.rate=0.001", "a.rate=0.002"], "given twice"),
        (["a.rate=0.5"], "not within 0.0001 to 0.01, log"),
        (["a.epochs=2.5"], "expected a whole number"),
        (["a.act=elu"], "expected one of tanh"),
    ],
)
def test_a_suggestion_that_is_none_is_said(texts, complaint):
    with pytest.raises(UsageError) as caught:
        suggestion_of(texts, PARAMETERS)
    assert complaint in str(caught.value)


def test_commas_in_brackets_and_quotes_part_nothing():
    assert split_commas("""[1,[2,3]], 'a,b',"c,d", e""") == ["[1,[2,3]]", "'a,b'", '"c,d"', "e"]
    assert split_commas("""'[',"]",f""") == ["'['", '"]"', "f"]
