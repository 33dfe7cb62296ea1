"""Runs whose updates are skipped are told of: once, and at the end where most were."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from operant.trainer.running.health import NothingLearnedError, SkippedUpdates


def warnings_of(skipped: SkippedUpdates, rows: list[dict[str, float]], first: int = 1):
    found = [skipped.warning(values, number) for number, values in enumerate(rows, first)]
    return [text for text in found if text]


def test_the_first_iteration_that_learned_nothing_is_told():
    skipped = SkippedUpdates(updates_per_iteration=4)
    rows = [{"updates/skipped": count} for count in (0, 3, 7, 11, 11)]
    # 0, 3, 4, 4 and 0 of four were skipped.
    assert warnings_of(skipped, rows) == [
        "iteration 3 learned nothing: 4 of its 4 updates were skipped"
    ]
    assert skipped.last_warning() == (
        "11 of the 20 updates of these 5 iterations were skipped, so little was learned: look for "
        "NaN and infinity in observations and rewards"
    )


def test_updates_that_an_algorithm_counts_itself_may_be_none_in_an_iteration():
    skipped = SkippedUpdates(updates_per_iteration=0)
    rows = [
        {"updates/count": count, "updates/skipped": count_of_skipped}
        for count, count_of_skipped in ((0, 0), (8, 2), (8, 2), (10, 4))
    ]
    assert warnings_of(skipped, rows) == [
        "iteration 4 learned nothing: 2 of its 2 updates were skipped"
    ]
    assert skipped.last_warning() == ""  # 4 of 10


def test_a_resumed_run_counts_from_where_it_goes_on():
    skipped = SkippedUpdates(4, num_updates=40, num_skipped=39)
    assert warnings_of(skipped, [{"updates/skipped": 39}], first=11) == []
    assert skipped.last_warning() == ""


@pytest.mark.parametrize(("skipped_in_each", "learns"), [
    ([4] * 10 + [4, 0], True),
    ([0] * 20 + [4], True),
    ([0] * 10 + [4], True),
    ([0] * 9 + [4], False),
    ([0] * 18 + [4] * 2, False),
    ([4], False),
])  # fmt: skip
def test_a_run_whose_last_tenth_moved_nothing_fails(skipped_in_each, learns):
    skipped = SkippedUpdates(updates_per_iteration=4)
    for count in itertools.accumulate(skipped_in_each):
        skipped.warning({"updates/skipped": count}, 1)
    with contextlib.nullcontext() if learns else pytest.raises(NothingLearnedError):
        skipped.check_end()


def test_a_run_without_updates_at_its_end_does_not_fail():
    skipped = SkippedUpdates(updates_per_iteration=0)
    for _ in range(10):
        skipped.warning({"updates/count": 0, "updates/skipped": 0}, 1)
    skipped.check_end()
