"""Values arrive whole, in order, once, and nobody waits for them; a stand-in for the GPU."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.machine.staged_values import HostEvent, Span, SpanTimer, StagedValues


class DeviceEvent(HostEvent):
    """Happens when the test says so."""

    happened = False
    waits = 0

    def query(self):
        return self.happened

    def synchronize(self):
        self.waits += 1
        self.happened = True


@pytest.fixture
def staging():
    """Staged values with two slots, and the events that were made for them."""
    events: list[DeviceEvent] = []

    def make_event():
        events.append(DeviceEvent())
        return events[-1]

    return StagedValues(["loss", "speed"], torch.device("cpu"), 2, make_event), events


def test_nothing_is_given_before_it_has_arrived_and_nothing_twice(staging):
    staged, events = staging
    staged.values.copy_(torch.tensor([1.0, 2.0]))
    staged.stage(1)
    assert staged.take() == []
    events[0].happened = True
    assert staged.take() == [(1, {"loss": 1.0, "speed": 2.0})]
    assert staged.take() == []


def test_the_order_is_kept_even_when_a_later_copy_is_done_first(staging):
    staged, events = staging
    staged.stage(1)
    staged.stage(2)
    events[1].happened = True
    assert staged.take() == []
    events[0].happened = True
    assert [iteration for iteration, _ in staged.take()] == [1, 2]


def test_with_all_slots_in_flight_it_declines_and_does_not_wait(staging):
    staged, events = staging
    assert [staged.stage(i) for i in (1, 2, 3)] == [True, True, False]
    assert not staged.has_room
    events[0].happened = True
    assert [iteration for iteration, _ in staged.take()] == [1]
    assert staged.has_room
    assert staged.stage(4)
    assert all(event.waits == 0 for event in events)
    assert [iteration for iteration, _ in staged.drain()] == [2, 4]


def test_draining_waits_once_for_the_last(staging):
    staged, events = staging
    staged.stage(1)
    staged.stage(2)
    assert [iteration for iteration, _ in staged.drain()] == [1, 2]
    assert [event.waits for event in events] == [0, 1]
    assert staged.drain() == []


def test_many_rounds_reuse_the_same_memory(staging):
    staged, events = staging
    arrived = []
    for i in range(100):
        staged.values.fill_(float(i))
        assert staged.stage(i)
        if i % 2:
            for event in events:
                event.happened = True
            arrived += staged.take()
    assert arrived == [(i, {"loss": float(i), "speed": float(i)}) for i in range(100)]


def test_phases_are_timed_between_the_devices_events(staging):
    staged, events = staging
    start, end = HostEvent(), HostEvent()
    start._at_s, end._at_s = 1.0, 1.25
    staged.stage(1, [Span("learn", start, end)])
    events[0].happened = True
    ((_, values),) = staged.take()
    assert values["time/learn_s"] == 0.25


def test_a_timer_gives_each_phase_once_in_order():
    timer = SpanTimer(HostEvent)
    for name in ("collect", "learn"):
        with timer.phase(name):
            pass
    taken = timer.take()
    assert [span.phase for span in taken] == ["collect", "learn"]
    assert all(span.start.elapsed_time(span.end) >= 0 for span in taken)
    assert timer.take() == []
