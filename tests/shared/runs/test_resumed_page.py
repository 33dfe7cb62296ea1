"""A resumed run keeps its curves up to the checkpoint, and forgets what it will do again."""

from __future__ import annotations

import numpy as np
import pytest
from leftover_rows import take_leftover_rows

from operant.shared import MetricsReader
from operant.shared.processes.lock import RunLock
from operant.shared.rows.curves import Curves
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession


def begun(num_publishes: int) -> RunSession:
    """The session of a new run that published so often."""
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    for number in range(1, num_publishes + 1):
        session.metrics.publish({"a": number}, number, 10 * number)
    session.metrics.event("info", "a checkpoint")
    return session


def resumed(run: Run, publish: int) -> RunSession:
    lock = RunLock(run.lock_path)
    return RunSession(run, lock, publish_interval_s=1, recorder=None, continue_from=publish)


def page_of(session: RunSession) -> MetricsReader:
    assert session.metrics.path
    return MetricsReader.attach(session.metrics.path)


@pytest.mark.parametrize("is_recorded", [True, False])
@pytest.mark.parametrize("is_killed", [True, False])
def test_the_curve_goes_on_where_the_checkpoint_was(is_recorded, is_killed):
    first = begun(9000)
    run = first.run
    if is_killed:
        first._lock.release()
    else:
        first.close("stopped", 0)
    if is_recorded:
        take_leftover_rows(run)
    again = resumed(run, 4480)
    assert page_of(again).read() is None  # nothing is published yet by the process that goes on
    for number in range(4481, 6001):
        again.metrics.publish({"a": -number}, number, 10 * number)
    for is_taken in (False, True):
        if is_taken:
            take_leftover_rows(run)
        with Curves.of_run(run) as curves:
            history = curves.history()
        assert history.num_publishes.sum() == 6000
        assert history.env_steps[-1] == 60_000
        assert np.all(np.diff(history.publish) > 0)
        assert np.all(np.diff(history.elapsed_s) >= 0)
        series, old = history.series("a"), history.publish <= 4480
        assert np.all(series.high[old] == history.publish[old])
        new = history.publish >= 4488
        assert np.all(series.high[new] < 0)  # nothing of the publishes that were done again
    again.close("finished", 0)


@pytest.mark.parametrize("num_publishes", [100, 9000])
def test_last_values_and_events_stay(num_publishes):
    first = begun(num_publishes)
    first.close("stopped", 0)
    take_leftover_rows(first.run)
    again = resumed(first.run, 50)
    again.metrics.publish({"new": 1.0})
    reader = page_of(again)
    snapshot = reader.read()
    assert snapshot
    assert snapshot.metrics == {"a": 50.0, "new": 1.0}
    assert [event.text for event in reader.events()] == ["a checkpoint"]
    assert reader.outcome() is None
    reader.detach()
    again.close("finished", 0)


def test_a_page_that_cannot_be_read_is_no_beginning():
    first = begun(10)
    first.close("stopped", 0)
    first.run.page_copy_path.write_bytes(b"something else")
    again = resumed(first.run, 10)
    assert again.metrics.num_publishes == 0
    again.close("finished", 0)


def test_a_copy_made_before_the_checkpoint_is_gone_on_from_without_a_gap():
    first = begun(100)
    first.close("stopped", 0)
    again = resumed(first.run, 150)  # the checkpoint, when the machine went
    assert again.metrics.num_publishes == 100
    again.metrics.publish({"a": -1.0})
    with Curves.of_run(first.run) as curves:
        assert curves.history().publish.tolist() == list(range(1, 102))
    again.close("finished", 0)


def test_the_page_that_holds_more_is_gone_on_from_the_copy_or_what_a_crash_left():
    first = begun(1)
    first.metrics.save_copy(first.run.page_copy_path)
    first.metrics.publish({"a": 2.0})
    first._lock.release()  # as if killed
    again = resumed(first.run, 2)
    assert again.metrics.num_publishes == 2
    again.close("finished", 0)
