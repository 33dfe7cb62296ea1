"""A replay's kernels in Numba's CUDA simulator; `test_replay.py` runs this in its own process."""

from __future__ import annotations

import pytest
from replay_checks import check_same_as_processor

from operant.trainer.jit.kernel import IN_SIMULATOR


@pytest.mark.parametrize("is_prioritised", [False, True], ids=["uniform", "by_error"])
def test_they_do_what_the_loops_of_the_processor_do(is_prioritised):
    assert IN_SIMULATOR
    check_same_as_processor("cpu", is_prioritised, size=12)


def test_they_rebuild_stacks_of_frames_as_the_loops_of_the_processor_do():
    assert IN_SIMULATOR
    check_same_as_processor("cpu", False, size=6, stack=3)
