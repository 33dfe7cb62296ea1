"""Regular expressions of others: found as Python finds them, in time that no expression escapes."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from operant.shared.text.patterns import PatternError, pattern

ATOMS = st.sampled_from(
    ["a", "b", "A", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", "^", "$", r"\b", r"\B", r"\A", r"\Z",
     "", "é", "/", "(?i:b)", "(?-i:B)"]
)  # fmt: skip
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        st.tuples(
            inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??"])
        ).map(lambda two: f"(?:{two[0]}){two[1]}"),
    ),
    max_leaves=8,
)


# Python 3.14 finds \B in an empty text; versions before it do not.
@given(EXPRESSIONS, st.text("abAB1 /é\n", min_size=1, max_size=12))
def test_what_is_found_is_what_python_finds(expression, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            pattern.cache_clear()
            wanted = re.compile(expression, re.IGNORECASE)
        except re.error:
            assume(False)
    found = pattern(expression)
    assert found.search(text) == (wanted.search(text) is not None)
    found._simple = None
    assert found.search(text) == (wanted.search(text) is not None)


@pytest.mark.timeout(120)  # Python's own matcher would take for ever
@pytest.mark.parametrize(
    "expression",
    ["(a+)+b$", "(a|a)*b", "(a|aa)+b", "(.*)*x", "(a?){30}a{30}b", ".*.*.*.*.*x", "a?" * 40 + "b"],
)
def test_no_expression_takes_long(expression):
    for text in ("a" * 300, "a" * 3000 + "!"):
        start = time.process_time()
        assert not pattern(expression).search(text)
        assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("(a", "no regular expression: missing )"),
        (r"(a)\1", "not possible here"),
        ("(?=a)b", "not possible here"),
        ("(?<!a)b", "not possible here"),
        ("a{100000}", "more than can be searched for"),
        ("((a{20}){20}){20}", "more than can be searched for"),
        ("(" * 5000 + ")" * 5000, "more than can be searched for"),
    ],
)
def test_what_cannot_be_searched_for_is_one_line(expression, says):
    with pytest.raises(PatternError, match=re.escape(says)) as error:
        pattern(expression)
    assert "\n" not in str(error.value)
