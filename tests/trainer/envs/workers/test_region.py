"""The memory that the trainer and its workers share."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared.errors import OperantError
from operant.trainer.envs.workers.region import (
    Layout,
    nameless_file,
    shared_fields,
)
from operant.trainer.spaces import Box, Discrete, MultiDiscrete

actions = st.sampled_from([Discrete(3), MultiDiscrete((2, 3)), Box((-1.0, 0.0), (1.0, 1.0))])
small = st.integers(1, 5)
layouts = st.builds(Layout, small, small, small, st.integers(1, 40), actions)


@given(layouts)
def test_no_two_fields_overlap_and_each_begins_on_a_cache_line(layout):
    offsets = layout.offsets()
    end = 0
    for name, (dtype, shape) in layout.fields().items():
        assert offsets[name] >= end
        assert offsets[name] % 64 == 0
        end = offsets[name] + dtype.itemsize * int(np.prod(shape))
    assert end <= offsets["end"]


def test_what_one_side_writes_the_other_reads():
    layout = Layout(2, 3, 1, 4, Discrete(2))
    file = nameless_file(layout.offsets()["end"])
    ours, theirs = shared_fields(layout, file), shared_fields(layout, file)
    os.close(file)  # the memory stays while it is mapped
    ours.rows().actions[4] = 7
    assert theirs.of_worker(1)[0].actions[1] == 7


def test_a_region_that_does_not_fit_into_memory_is_one_line():
    with pytest.raises(OperantError, match=r"no shared memory of .* MiB for workers: ") as caught:
        nameless_file(2**62)
    assert "\n" not in str(caught.value)
