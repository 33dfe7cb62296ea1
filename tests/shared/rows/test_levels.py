"""Levels keep the lowest, the mean and the highest of their rows; pieces cover any range."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from operant.shared.rows.levels import FOLD, NUM_LEVELS, folded, folded_up, pieces, sides
from operant.shared.rows.row_batch import NEVER_WRITTEN, NO_ROWS, RowBatch, is_written, joined

values = st.one_of(
    st.floats(-1e308, 1e308), st.sampled_from([math.nan, math.inf, -math.inf, NEVER_WRITTEN])
)


def batch_of(columns: list[list[float]], first: int = 1) -> RowBatch:
    """Rows whose metrics, at places 0, 1, ..., have the values of `columns`."""
    publish = np.arange(first, first + len(columns[0]))
    heads = np.stack([publish, publish * 10, publish * 20, publish, publish * 64, publish * 0 + 1])
    return RowBatch(heads, np.arange(len(columns)), np.array(columns, np.float64))


def plain_fold(low: list[float], mean: list[float], high: list[float]) -> tuple[float, ...]:
    """Eight rows of one metric as one, number by number."""
    known = [i for i in range(FOLD) if math.isfinite(mean[i])]
    if not known:
        wrote = is_written(np.array([mean])).any()
        return (math.nan if wrote else NEVER_WRITTEN,) * 3
    lowest, highest = min(low[i] for i in known), max(high[i] for i in known)
    with np.errstate(over="ignore"):
        total = float(np.sum(np.array([mean[i] if i in known else 0.0 for i in range(FOLD)])))
    return lowest, min(max(total / len(known), lowest), highest), highest


def same_bits(a: object, b: object) -> bool:
    return np.asarray(a, np.float64).tobytes() == np.asarray(b, np.float64).tobytes()


@settings(max_examples=100, deadline=None)
@given(columns=st.lists(st.lists(values, min_size=64, max_size=64), min_size=1, max_size=3))
def test_two_levels_are_the_plain_fold_of_their_rows(columns):
    first = folded(batch_of(columns), 0)
    second = folded(first, 1)
    for rows, below, level in ((first, batch_of(columns), 0), (second, first, 1)):
        places, *expected_sides = sides(below, level)
        for place in places:
            found = [side[place] for side in sides(rows, level + 1)[1:]]
            parts = [side[place].reshape(-1, FOLD).tolist() for side in expected_sides]
            expected = [plain_fold(*(side[g] for side in parts)) for g in range(len(rows))]
            assert same_bits(np.array(found).T, expected)
            low, mean, high = (side[np.isfinite(found[1])] for side in found)
            assert (low <= mean).all()
            assert (mean <= high).all()
    assert first.heads[:, 0].tolist() == [8, 80, 160, 8, 512, 8]
    assert second.heads[:, 0].tolist() == [64, 640, 1280, 64, 4096, 64]


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(1, 200), min_size=1, max_size=8))
def test_rows_fold_alike_however_they_come(sizes):
    num_rows = sum(sizes)
    column = np.sin(np.arange(num_rows)).tolist()
    left: tuple[RowBatch, ...] = (NO_ROWS,) * (NUM_LEVELS - 1)
    levels: list[list[RowBatch]] = [[] for _ in range(NUM_LEVELS)]
    begin = 0
    for size in sizes:
        new, left = folded_up(batch_of([column[begin : begin + size]], begin + 1), left)
        for level, rows in enumerate(new):
            levels[level].append(rows)
        begin += size
    expected = batch_of([column])
    for level, batches in enumerate(levels):
        found = joined(batches)
        assert len(found) == num_rows // FOLD**level == len(expected)
        assert same_bits(found.values, expected.values)
        expected = folded(expected.part(slice(len(expected) // FOLD * FOLD)), level)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_pieces_cover_a_range_once_with_no_more_rows_than_asked_for(data):
    last = data.draw(st.integers(1, 10_000_000))
    first = data.draw(st.integers(1, last))
    most = data.draw(st.integers(64, 4096))
    single = data.draw(st.integers(0, most))
    found = pieces(first, last, most, single)
    begin = None
    for level, low, high in found:
        assert low <= high
        start = (low - 1) * FOLD**level + 1
        assert start <= first if begin is None else start == begin
        begin = high * FOLD**level + 1
    assert begin == last + 1
    coarsest = found[0].level
    assert first - ((found[0].first - 1) * FOLD**coarsest + 1) < FOLD**coarsest
    num_rows = sum(high - low + 1 for _, low, high in found)
    assert num_rows <= most + single + FOLD * NUM_LEVELS
    assert coarsest == 0 or num_rows > most // FOLD - FOLD
    num_single = sum(high - low + 1 for level, low, high in found if level == 0)
    assert num_single >= min(single, last - first + 1)
