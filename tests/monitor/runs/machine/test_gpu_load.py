"""How busy a GPU is counts while the run trains, and once there is enough to tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from views import SAMPLES, make_view

from operant.monitor.runs.machine.gpu_load import NUM_SAMPLES, GpuLoad
from operant.monitor.runs.machine.machine import GpuSample

STATUS = make_view().status
LEARNING = replace(STATUS, phase="learning")


def sample(*shares: float | None):
    return replace(SAMPLES[0], gpus=tuple(GpuSample("GPU", share) for share in shares))


def fed(load: GpuLoad, count: int, share: float, status=LEARNING) -> GpuLoad:
    for _ in range(count):
        load.add(sample(share), status)
    return load


def test_it_is_a_mean_of_many_samples():
    load = fed(GpuLoad(), NUM_SAMPLES, 0.5)
    assert load.busy is None  # the first may tell of what was before
    assert fed(load, 1, 0.5).busy == pytest.approx(0.5)
    assert fed(load, NUM_SAMPLES, 1.0).busy == pytest.approx(1.0)


@pytest.mark.parametrize("phase", [None, "compiling", "evaluating", "saving", "waiting"])
def test_pauses_and_what_is_left_of_them_do_not_count(phase):
    load = fed(GpuLoad(), NUM_SAMPLES + 1, 0.9)
    fed(load, 20, 0.0, replace(STATUS, phase=phase))
    assert fed(load, 1, 0.2).busy == pytest.approx(0.9)
    assert fed(load, 1, 0.0).busy == pytest.approx(0.9 * (1 - 1 / NUM_SAMPLES))


def test_a_run_that_is_over_or_stalled_does_not_count():
    for state in ("finished", "stalled"):
        assert fed(GpuLoad(), 40, 0.1, replace(LEARNING, state=state)).busy is None


def test_it_is_that_of_the_busiest_gpu_of_those_that_tell():
    load = GpuLoad()
    for _ in range(NUM_SAMPLES + 1):
        load.add(sample(0.1, None, 0.8), LEARNING)
    assert load.busy == pytest.approx(0.8)
    for gpus in (None, sample(), sample(None)):
        load.add(gpus, LEARNING)
    assert load.busy == pytest.approx(0.8)
