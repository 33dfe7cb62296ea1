"""A loop is stalled when it is silent for longer than its promise and its own pace allow."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.shared import MetricsReader, MetricsWriter
from operant.shared.page.life_signs import LifeSigns, patience_with

INTERVAL_S = 0.25  # as the trainer promises: stalled after 2 s, unless it is slow
SECONDS = st.floats(1e-3, 1e4)


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Returns `signs`, which publishes at given gaps and then stays silent."""
    clock = {"ns": 5_000_000_000}
    monkeypatch.setattr("time.monotonic_ns", lambda: clock["ns"])

    def signs(gaps_s, silent_s, phase=None) -> LifeSigns:
        path = tmp_path / f"page-{clock['ns']}"
        writer = MetricsWriter.create(
            path, "run", [], publish_interval_s=INTERVAL_S, max_metrics=1, rows_bytes=1 << 16
        )
        for gap_s in gaps_s:
            clock["ns"] += int(gap_s * 1e9)
            writer.publish({"a": 1.0})
        if phase:
            writer.phase(phase)
        clock["ns"] += int(silent_s * 1e9)
        reader = MetricsReader.attach(path)
        snapshot = reader.read()
        age_s = reader.age_s(snapshot) if snapshot else None
        found = LifeSigns(reader, snapshot, age_s, reader.phase())
        writer.remove()
        return found

    return signs


def test_a_loop_slower_than_it_promised_is_late_only_against_its_own_pace(page):
    # Three publishes, 10 s apart: four gaps are 40 s.
    assert not page([10.0, 10.0, 10.0], silent_s=39.0).is_late
    assert page([10.0, 10.0, 10.0], silent_s=41.0).is_late


def test_a_quick_loop_is_late_after_eight_promised_intervals(page):
    # 8 * 0.25 s = 2 s
    assert not page([0.1] * 20, silent_s=1.9).is_late
    assert page([0.1] * 20, silent_s=2.1).is_late


def test_after_its_first_publish_a_slow_loop_is_known_by_the_time_that_one_took(page):
    assert not page([10.0], silent_s=15.0).is_late
    assert page([0.2], silent_s=15.0).is_late


def test_before_its_first_publish_a_loop_has_a_minute(page):
    assert not page([], silent_s=59.0, phase="collecting").is_late
    assert page([], silent_s=61.0, phase="collecting").is_late


@pytest.mark.parametrize(("phase", "patience_s"), [("evaluating", 60), ("learning", 2)])
def test_a_phase_with_long_calls_is_under_way_and_no_stall(page, phase, patience_s):
    assert not page([0.1] * 20, silent_s=patience_s - 0.5, phase=phase).is_late
    assert page([0.1] * 20, silent_s=patience_s + 0.5, phase=phase).is_late


def test_a_pause_is_forgotten_after_sixteen_publishes(page):
    assert not page([0.1, 600.0, *[0.1] * 15], silent_s=1000.0).is_late
    assert page([0.1, 600.0, *[0.1] * 16], silent_s=1000.0).is_late


@given(pace_s=SECONDS, jitter=st.lists(st.floats(0.5, 2.0), min_size=1, max_size=40))
def test_a_steady_loop_of_any_pace_is_never_stalled(pace_s, jitter):
    """Its gaps are between half and twice its pace: the longest is at most four medians."""
    gaps_s = [pace_s * factor for factor in jitter]
    for end in range(1, len(gaps_s)):
        assert gaps_s[end] <= patience_with(gaps_s[max(0, end - 16) : end]) * (1 + 1e-9)


@given(quick_s=SECONDS, slow_s=SECONDS, every=st.integers(1, 16), num=st.integers(17, 60))
def test_a_loop_that_does_something_long_now_and_then_is_never_stalled(quick_s, slow_s, every, num):
    gaps_s = [slow_s if i % every == 0 else quick_s for i in range(num)]
    for end in range(16, num):
        assert gaps_s[end] <= patience_with(gaps_s[end - 16 : end])


@given(gaps_s=st.lists(SECONDS, min_size=1, max_size=16))
def test_what_is_silent_for_longer_than_ever_is_late_at_last(gaps_s):
    patience_s = patience_with(gaps_s)
    assert 4 * statistics.median(gaps_s) <= patience_s
    assert 2 * max(gaps_s) <= patience_s <= 4 * max(gaps_s)
