"""Whatever a GPU does first, and however late, a run comes to the same numbers without a race."""

from __future__ import annotations

import functools

import gpu_runs
import pytest
from gpu_subjects import SUBJECTS, differences

FEW, MANY = range(3), range(3, 100)
SHORT = ("staged metrics", "overlapping rollouts")


@pytest.fixture(autouse=True)
def _same_operations():
    with gpu_runs.without_processor_loops():
        yield


@functools.cache
def on_processor(name):
    return SUBJECTS[name].on("cpu")


def marked(names):
    long = pytest.mark.long_rehearsal
    return [pytest.param(name, marks=() if name in names else long) for name in SUBJECTS]


@pytest.mark.parametrize("name", marked(SHORT))
def test_pytorchs_sanitizer_finds_no_race(name):
    from emulated_gpu.races import races  # importing it makes the emulation

    with races() as sanitizer:
        found = SUBJECTS[name].on("cuda")
    assert sanitizer.found == []
    assert sanitizer.num_accesses["device"] > 1000
    assert differences(found, on_processor(name)) == []


def check(name, seeds):
    from emulated_gpu.races import races  # importing it makes the emulation

    expected = on_processor(name)
    for seed in seeds:
        with races(seed) as sanitizer:
            found = SUBJECTS[name].on("cuda")
        assert (seed, sanitizer.found, differences(found, expected)) == (seed, [], [])


@pytest.mark.parametrize("name", marked(SHORT))
def test_a_few_schedules_change_no_bit_and_have_no_race(name):
    check(name, FEW)


@pytest.mark.long_rehearsal
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_hundred_schedules_change_no_bit_and_have_no_race(name):
    check(name, MANY)
