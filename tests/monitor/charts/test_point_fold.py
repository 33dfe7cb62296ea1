"""Rows become points, each metric's own: none is lost, few are kept."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.charts.point_fold import ENV_STEPS, PUBLISH, ROW, PointFold, Rows
from operant.shared.page.history import NEVER_WRITTEN

NAN = float("nan")


def rows(first: int, columns: dict[int, list[float]], env_steps: list[int] | None = None) -> Rows:
    """Rows from number `first` on, the values of each place in them; None for nothing."""
    values = np.array(
        [[NEVER_WRITTEN if v is None else v for v in column] for column in columns.values()]
    )
    heads = np.zeros((6, values.shape[1]), np.int64)
    numbers = np.arange(first, first + values.shape[1])
    heads[PUBLISH], heads[ROW] = numbers, numbers
    heads[ENV_STEPS] = numbers if env_steps is None else env_steps
    return Rows(heads, np.array(list(columns)), values)


def test_few_rows_are_points_each_with_its_own_step():
    fold = PointFold(2)
    fold.add(rows(1, {0: [1.0, 2.0, None], 1: [None, None, 9.0]}, [100, 200, 0]))
    fold.add(rows(4, {1: [8.0, 7.0]}, [1, 2]))  # an evaluation that counts from 0 again
    train, evaluation = fold.folded().points(0), fold.folded().points(1)
    assert (train.env_steps.tolist(), train.mean.tolist()) == ([100, 200], [1, 2])
    assert (evaluation.env_steps.tolist(), evaluation.mean.tolist()) == ([0, 1, 2], [9, 8, 7])
    assert fold.folded().points(2) is None


def test_a_seldom_metric_keeps_every_row_beside_one_that_is_folded():
    fold = PointFold(2)
    for first in range(1, 100_001, 1000):
        seldom = [float(first) if i == 0 else None for i in range(1000)]
        fold.add(rows(first, {0: [float(first + i) for i in range(1000)], 1: seldom}))
    often, seldom = fold.folded().points(0), fold.folded().points(1)
    assert (len(seldom), seldom.span) == (100, 1)
    assert seldom.env_steps.tolist() == list(range(1, 100_001, 1000))
    # 100,000 rows in fewer than 2 * 1024 points: 64 rows in each of 1562.5 of them
    assert (len(often), often.span) == (1563, 64)
    assert often.newest_span == 100_000 % 64
    assert often.until(50_000).newest_span == 64
    assert (often.low[0], often.mean[0], often.high[0]) == (1, 32.5, 64)
    assert (often.low[-1], often.high[-1], often.publish[-1]) == (99_969, 100_000, 100_000)


def test_what_is_left_over_of_a_fold_joins_the_newest_point():
    fold = PointFold(1)
    fold._max_points = 2
    fold.add(rows(1, {0: [1.0, 2.0, 3.0, 4.0]}))  # folded to two points of two rows
    fold.add(rows(5, {0: [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]}))  # 9 and 10 are left, 11 is open
    points = fold.folded().points(0)
    assert (points.span, points.newest_span) == (4, 3)
    assert points.mean.tolist() == [2.5, 6.5, 10.0]
    assert (points.low.tolist(), points.high.tolist()) == ([1, 5, 9], [4, 8, 11])


def test_metrics_that_part_keep_what_they_had():
    fold = PointFold(2)
    fold.add(rows(1, {0: [1.0, 2.0], 1: [3.0, 4.0]}))
    fold.add(rows(3, {0: [5.0, 6.0], 1: [None, 7.0]}))
    assert fold.folded().points(0).mean.tolist() == [1, 2, 5, 6]
    assert fold.folded().points(1).mean.tolist() == [3, 4, 7]
    assert fold.folded().points(1).row.tolist() == [1, 2, 4]


def test_points_that_were_given_stay_as_they_are():
    fold = PointFold(1)
    fold.add(rows(1, {0: [1.0] * 3000}))
    before = fold.folded().points(0)
    mean = before.mean.copy()
    fold.add(rows(3001, {0: [5.0] * 3000}))
    assert before.mean.tolist() == mean.tolist()


def test_the_newest_value_of_a_step_metric_is_the_place_on_its_axis():
    fold = PointFold(2, step_places=[1])
    fold.add(rows(1, {0: [1.0, 2.0], 1: [10.0, 20.0]}))
    fold.add(rows(3, {0: [3.0, 4.0], 1: [None, 40.0]}))
    points = fold.folded().points(0, step_place=1)
    assert points.own_x.tolist() == [10, 20, 20, 40]
    assert np.isnan(fold.folded().points(0).own_x).all()


values = st.one_of(st.none(), st.floats(-1e6, 1e6), st.just(NAN))


@given(
    batches=st.lists(st.lists(st.tuples(values, values), min_size=1, max_size=300), max_size=12),
    max_points=st.integers(1, 40),
)
def test_the_points_of_any_rows_have_their_range_their_mean_and_their_last_head(
    batches, max_points
):
    fold = PointFold(2)
    fold._max_points = max_points
    written: list[list[tuple[int, float]]] = [[], []]
    number = 1
    for batch in batches:
        fold.add(rows(number, {0: [a for a, _ in batch], 1: [b for _, b in batch]}))
        for row in batch:
            for place, value in enumerate(row):
                if value is not None:
                    written[place].append((number, value))
            number += 1
    for place, expected in enumerate(written):
        points = fold.folded().points(place)
        if not expected:
            assert points is None
            continue
        assert len(points) <= 2 * max_points
        for index in range(len(points)):
            part = expected[index * points.span : (index + 1) * points.span]
            known = [value for _, value in part if value == value]
            assert points.row[index] == part[-1][0]
            if not known:
                assert np.isnan(points.mean[index])
                continue
            assert (points.low[index], points.high[index]) == (min(known), max(known))
            assert min(known) - 1e-3 <= points.mean[index] <= max(known) + 1e-3
        assert len(points) == -(-len(expected) // points.span)
