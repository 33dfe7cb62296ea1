"""The words people type to see some of the charts: those of the list of runs, on metrics' names.

loss                a metric's name has it        -loss     it has not
/^loss.*(a|b)$/     a regular expression finds something in it; so does ~^loss
return or loss      one of several choices
"""

from __future__ import annotations

from collections.abc import Callable

from ...shared.patterns import pattern
from ..runs.filter_terms import FilterError, Term, parse_filter

Test = Callable[[str], bool]


def metric_filter(text: str) -> Test:
    """Whether a metric of a name is looked for. Raises FilterError where `text` is not understood
    or asks for more than names.
    """
    tests = [[_test(term) for term in terms] for terms in parse_filter(text)]
    return lambda name: any(all(test(name) for test in each) for each in tests)


def _test(term: Term) -> Test:
    if term.key != "name":
        raise FilterError(f"charts are found by their names, and not by {term.key}")
    holds = _plain_test(term)
    return (lambda name: not holds(name)) if term.is_negated else holds


def _plain_test(term: Term) -> Test:
    if term.how == "~":
        return pattern(term.value).search
    words = [word for word in term.value.lower().split(",") if word] or [","]
    is_wanted = term.how != "!="
    return lambda name: any(word in name.lower() for word in words) == is_wanted
