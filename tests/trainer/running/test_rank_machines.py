"""Ranks on machines of their own; `make rank-faults` is the long form."""

from __future__ import annotations

import pytest
import rank_faults
from machines import Machines, why_none
from rank_faults import RUN, check_exact

from operant.shared.runs.find_runs import find_run

pytestmark = pytest.mark.release


@pytest.fixture
def machines():
    if reason := why_none():
        pytest.skip(reason)
    with Machines(rank_faults.NUM_RANKS, delay_s=0.001, loss=0.01) as made:
        yield made


def test_a_pulled_cable_ends_all_with_a_line_and_the_run_goes_on_exactly(machines, tmp_path):
    (fault,) = rank_faults.faults(machines, ["cut"], 1, tmp_path)
    assert fault.line.count("is gone") == 1
    assert check_exact(machines, find_run(RUN), tmp_path) > 0
