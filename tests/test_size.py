"""The lines that `make size` counts, and the ceilings at which it fails."""

from __future__ import annotations

from collections import Counter

from size import code_lines, over_ceilings

SOURCE = '''"""A docstring of the module
over two lines."""

import os  # a comment beside code counts as its line

# a comment alone
TEXT = """a string that is data
over two lines"""


def f(x):
    """A docstring."""
    return (
        x
    )
'''


def test_lines_with_code_count_and_docstrings_and_comments_do_not():
    # import, TEXT over two lines, def, and `return (`, `x`, `)`
    assert code_lines(SOURCE) == 7


def test_a_total_over_its_ceiling_is_named_with_both_numbers():
    now = {"product": Counter(python=90, other=11), "tests": Counter(python=5)}
    assert over_ceilings(now, {"product": 101, "tests": 5}) == []
    assert over_ceilings(now, {"product": 100, "tests": 5}) == [
        "product has 101 lines of code; its ceiling is 100"
    ]
