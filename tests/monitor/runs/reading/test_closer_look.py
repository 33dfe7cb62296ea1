"""Charts draw every row: of runs that live and that have ended, whole and zoomed into."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from leftover_rows import take_leftover_rows

from operant.monitor.charts.board import ChartBoard
from operant.monitor.charts.options import ChartOptions
from operant.monitor.charts.shown_run import Watched
from operant.monitor.charts.x_axis import XWindow
from operant.monitor.runs.reading.run_poller import RunPoller
from operant.shared import Metric
from operant.shared.processes.lock import RunLock
from operant.shared.rows.row_batch import RowBatch
from operant.shared.rows.row_file import RowFile
from operant.shared.runs.session import RunSession


def publish(session: RunSession, first: int, last: int) -> None:
    """Every hundredth row is an evaluation besides, whose own step is a row's number over 100."""
    for number in range(first, last + 1):
        values = {"loss": float(number)}
        if number % 100 == 0:
            values |= {"eval/return": -float(number), "eval/step": number / 100}
        session.metrics.publish(values, number, 10 * number)


def drawn(view, name: str, **options):
    """The curve in front of the chart of metric `name`, and the chart."""
    board = ChartBoard()
    board.choose(ChartOptions(**options))
    board.show([Watched(view)], ())
    place = [metric.name for metric in board.metrics].index(name)
    chart = board.chart(place)
    return chart.traces[0].curve, chart


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("is_drained", [True, False])
def test_a_long_run_is_drawn_from_all_of_its_rows(make_session, is_ended, is_drained):
    session = make_session()
    publish(session, 1, 9_000)
    if is_drained:
        take_leftover_rows(session.run)
    publish(session, 9_001, 10_000)
    if is_ended:
        session.close("finished", 0)
        take_leftover_rows(session.run)
    view = RunPoller(session.run).poll()
    curve, _ = drawn(view, "loss")
    # the newest 1024 or more one by one, before them 8 in each
    assert (curve.low[0], curve.high[0], curve.x[0]) == (1, 8, 80)
    assert curve.x[-1024:].tolist() == list(range(89_770, 100_001, 10))
    assert len(curve) < 8192
    evaluations, _ = drawn(view, "eval/return")
    assert evaluations.mean.tolist() == list(range(-100, -10_001, -100))
    assert (np.abs(evaluations.x - 10 * -evaluations.mean) < 80).all()


def test_new_rows_of_a_live_run_are_drawn_as_they_come(make_session):
    session = make_session()
    publish(session, 1, 3000)
    take_leftover_rows(session.run)
    poller = RunPoller(session.run)
    assert poller.poll().history is poller.poll().history  # nothing new is nothing read
    publish(session, 3001, 3010)
    take_leftover_rows(session.run)
    publish(session, 3011, 3020)
    curve, _ = drawn(poller.poll(), "loss")
    assert (curve.x[-1], curve.high[-1]) == (30_200, 3020)
    assert np.diff(curve.x).min() > 0


def test_what_is_zoomed_into_has_single_rows_at_the_next_look(make_session):
    session = make_session()
    publish(session, 1, 10_000)
    session.close("finished", 0)
    take_leftover_rows(session.run)
    poller = RunPoller(session.run)
    window = XWindow(width=200.0, end=50_100.0)
    coarse, _ = drawn(poller.poll(), "loss", window=window)
    assert coarse.x[:3].tolist() == [80, 160, 240]
    fine, _ = drawn(poller.poll(), "loss", window=window)
    shown = (fine.x >= 49_900) & (fine.x <= 50_100)
    assert fine.x[shown].tolist() == list(range(49_900, 50_101, 10))
    assert fine.mean[shown].tolist() == list(range(4990, 5011))


def test_a_zoomed_part_that_follows_a_live_run_stays_fine(make_session):
    session = make_session()
    publish(session, 1, 10_000)
    poller = RunPoller(session.run)
    window = XWindow(width=2_000.0)
    drawn(poller.poll(), "loss", window=window)
    for last in range(10_100, 11_001, 100):
        publish(session, last - 99, last)
        fine, chart = drawn(poller.poll(), "loss", window=window)
        shown = fine.x >= chart.x_range[0]
        assert np.diff(fine.x[shown]).tolist() == [10] * (int(shown.sum()) - 1)
        assert 180 < shown.sum() <= 201
        assert fine.mean[-1] == last


def test_a_zoomed_part_has_the_newest_rows_before_they_are_on_disk(make_session):
    session = make_session()
    publish(session, 1, 10_000)
    take_leftover_rows(session.run)
    publish(session, 10_001, 10_100)
    poller = RunPoller(session.run)
    window = XWindow(width=20_000.0)
    drawn(poller.poll(), "loss", window=window)
    fine, _ = drawn(poller.poll(), "loss", window=window)
    assert fine.x[-2000:].tolist() == list(range(81_010, 101_001, 10))


def test_rows_of_a_process_that_does_them_again_are_drawn_once(make_session):
    session = make_session()
    publish(session, 1, 3000)
    take_leftover_rows(session.run)
    poller = RunPoller(session.run)
    poller.poll()
    session.close("stopped", 0)
    lock = RunLock(session.run.lock_path)
    again = RunSession(
        session.run, lock, publish_interval_s=100.0, recorder=None, continue_from=2000
    )
    publish(again, 2001, 2500)
    take_leftover_rows(session.run)
    curve, _ = drawn(poller.poll(), "loss")
    assert curve.x.tolist() == list(range(10, 25_001, 10))
    again.close("finished", 0)


def test_a_metric_with_a_step_metric_has_its_own_axis_in_its_chart(make_session):
    session = make_session()
    session.metrics.register(Metric("eval/return", step_metric="eval/step"))
    publish(session, 1, 600)
    view = RunPoller(session.run).poll()
    of_history, chart = drawn(view, "eval/return")
    assert of_history.x.tolist() == [1, 2, 3, 4, 5, 6]
    assert chart.note == "over eval/step"
    assert chart.x_range[0] == 1.0  # beyond 0.1 of its end
    assert drawn(view, "loss")[1].note == "over env steps"
    publish(session, 601, 3000)
    of_rows, _ = drawn(RunPoller(session.run).poll(), "eval/return")
    assert of_rows.x.tolist() == list(range(1, 31))
    assert of_rows.mean.tolist() == [-100.0 * n for n in range(1, 31)]
    by_iterations, chart = drawn(view, "eval/return", x_count="iterations")
    assert (by_iterations.x[0], chart.note) == (100, "over iterations")


def test_an_axis_of_its_own_is_zoomed_into_and_pointed_at_along_with_the_others(make_session):
    session = make_session()
    session.metrics.register(Metric("eval/return", step_metric="eval/step"))
    publish(session, 1, 1000)
    session.close("finished", 0)
    view = RunPoller(session.run).poll()
    board = ChartBoard()
    # The others' axis is 0 to 10,000 (its beginning, 10, is near 0), this one 0 to 10.
    board.choose(ChartOptions(window=XWindow(2000.0, 6000.0), cursor=5000.0))
    board.show([Watched(view)], ())
    place = [metric.name for metric in board.metrics].index("eval/return")
    chart = board.chart(place)
    assert chart.x_range == pytest.approx((4, 6))
    assert chart.cursor == pytest.approx(5)
    assert chart.value == "-500.0"
    moved = board.with_cursor_moved(place, 100, 1)
    assert 5000 < moved.cursor < 5100


@pytest.mark.parametrize(
    "damage", ["UPDATE rows SET num_rows = num_rows + 1", "DELETE FROM metrics"]
)
def test_a_file_that_does_not_fit_together_ends_in_a_view(make_session, damage):
    session = make_session()
    publish(session, 1, 3000)
    path = session.run.rows_path
    file = RowFile(path)
    heads = np.stack([np.arange(1, 6)] * 6)
    file.append([RowBatch(heads, np.array([0]), np.zeros((1, 5)))], [Metric("loss")])
    file.close()
    with closing(sqlite3.connect(path)) as database:
        database.execute(damage)
        database.commit()
    curve, _ = drawn(RunPoller(session.run).poll(), "loss")
    assert curve.x[-1] == 30_000


def test_a_damaged_file_leaves_the_history(make_session):
    session = make_session()
    publish(session, 1, 3000)
    session.run.rows_path.write_bytes(b"hello" * 1000)
    curve, _ = drawn(RunPoller(session.run).poll(), "loss")
    assert curve.x[-1] == 30_000
