from __future__ import annotations

import pytest

from operant.trainer.algorithms.algorithm import scheduled


@pytest.mark.parametrize(
    ("schedule", "values"),
    [("constant", [2.0, 2.0, 2.0]), ("linear", [2.0, 1.0, 0.0]), ("cosine", [2.0, 1.0, 0.0])],
)
def test_a_coefficient_at_the_start_the_middle_and_the_end(schedule, values):
    found = [scheduled(2.0, schedule, progress) for progress in (0.0, 0.5, 1.0)]
    assert found == pytest.approx(values)
