"""What `make size` counts, and when it fails."""

from __future__ import annotations

from collections import Counter

from size import code_lines, over_ceilings, sizes

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


def test_code_of_other_languages_counts_by_folder_and_data_counts_in_kilobytes():
    found = sizes(
        {
            "trainer/running/loop.py": b"x = 1\ny = 2\n",
            "trainer/envs/fast.c": b"int x;\n\nint y;\n",
            "trainer/envs/table.npz": b"\0" * 1_001,
            "tests/support/views.py": b"x = 1\n",
            "tools/size.py": b"x = 1\ny = 2\n",
            "docs/ppo.md": b"words\n" * 100,
        }
    )
    assert found["product"] == Counter(python=2, other=2, kB=2, files=3)
    assert found["trainer"] == Counter(python=2, other=2, kB=2, files=3)
    assert found["trainer/envs"] == Counter(other=2, kB=2, files=2)
    assert found["tests"] == Counter(python=3, files=2)
    assert found["tools"] == Counter(python=2, files=1)
    assert "docs" not in found


def test_a_total_over_its_ceiling_is_named_with_both_numbers():
    now = {"product": Counter(python=90, other=11), "tests": Counter(python=5)}
    assert over_ceilings(now, {"product": 101, "tests": 5}) == []
    assert over_ceilings(now, {"product": 100, "tests": 5}) == [
        "product has 101 lines of code; its ceiling is 100"
    ]
