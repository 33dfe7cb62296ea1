"""Environments are shared out whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.errors import ConfigError
from operant.trainer.distributed.split import Share, shares

WEIGHTS = st.floats(1e-3, 1e3, allow_nan=False)


@given(st.lists(WEIGHTS, min_size=1, max_size=9), st.integers(0, 10_000))
def test_every_rank_has_environments_and_all_are_had_once(weights, more):
    num_envs = len(weights) + more
    found = shares(":".join(map(repr, weights)), num_envs, len(weights))
    assert sum(share.num_envs for share in found) == num_envs
    assert all(share.num_envs > 0 for share in found)
    assert [share.first_env for share in found] == [
        sum(other.num_envs for other in found[:i]) for i in range(len(found))
    ]


@pytest.mark.parametrize(
    ("split", "num_envs", "expected"),
    [
        ("", 7, [3, 2, 2]),
        ("3:2:1", 6, [3, 2, 1]),
        ("1.4:1:0.6", 30, [14, 10, 6]),
        ("100:1:1", 4, [2, 1, 1]),
        (" 1 : 1 : 2 ", 8, [2, 2, 4]),
    ],
)
def test_splits(split, num_envs, expected):
    assert [share.num_envs for share in shares(split, num_envs, 3)] == expected


def test_the_first_environments_are_those_of_rank_0():
    assert shares("3:1", 8, 2) == [Share(0, 6), Share(6, 2)]


@pytest.mark.parametrize(
    ("split", "num_envs", "told"),
    [
        ("1:1", 6, "split = 1:1 is for 2 ranks, and there are 3"),
        ("1:0:1", 6, "'0' is not a number above 0"),
        ("1:nan:1", 6, "'nan' is not a number above 0"),
        ("a:1:1", 6, "'a' is not a number above 0"),
        ("", 2, "num_envs = 2 is too few for 3 ranks"),
    ],
)
def test_a_split_that_cannot_be_is_one_line(split, num_envs, told):
    with pytest.raises(ConfigError, match=told) as caught:
        shares(split, num_envs, 3)
    assert "\n" not in str(caught.value)
