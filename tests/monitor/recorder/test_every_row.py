"""Every row of a killed process is on disk, once and in order; what was lost is counted."""

from __future__ import annotations

from operant.monitor.recorder.every_row import RowDrain
from operant.monitor.recorder.page_watch import PageWatch
from operant.shared.processes.lock import RunLock
from operant.shared.rows.row_batch import joined
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession


def rows_of(run):
    reader = RowFileReader(run.rows_path)
    try:
        return joined(list(reader.batches())), reader.num_lost()
    finally:
        reader.close()


def test_rows_that_were_overwritten_before_anyone_took_them_are_counted():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=60.0, recorder=None)
    names = [f"m{i}" for i in range(200)]  # 1,672 bytes a row: 12 MiB hold 7,525
    watch, drain = PageWatch(run), RowDrain(run.rows_path)
    assert watch.look(is_alive=True)
    drain.begin(watch.page)
    session.metrics.publish(dict.fromkeys(names, 1.0))
    assert drain.take() == 1
    for number in range(2, 8001):
        session.metrics.publish(dict.fromkeys(names, float(number)))
    taken = drain.take()
    batch, num_lost = rows_of(run)
    assert 7500 < taken < 7550
    assert (len(batch), num_lost) == (1 + taken, 7999 - taken)
    assert batch.publish[-1] == 8000
    again = RowDrain(run.rows_path)  # a recorder that begins anew
    again.begin(watch.page)
    assert again.take() == 0
    watch.close()
    session.close("finished", 0)


def test_a_run_that_goes_on_drops_what_it_does_again_and_takes_what_was_not_on_disk():
    run, lock = create_run("test", {})
    first = RunSession(run, lock, publish_interval_s=60.0, recorder=None)
    for number in range(1, 11):
        first.metrics.publish({"a": number}, number, number)
    watch, drain = PageWatch(run), RowDrain(run.rows_path)
    watch.look(is_alive=True)
    drain.begin(watch.page)
    drain.take()
    first.metrics.publish({"a": 11}, 11, 11)
    first.close("stopped", 0)
    again = RunSession(
        run, RunLock(run.lock_path), publish_interval_s=60.0, recorder=None, continue_from=11
    )
    again.metrics.publish({"a": 12}, 12, 12)
    drain.close()
    watch, drain = PageWatch(run), RowDrain(run.rows_path)
    watch.look(is_alive=True)
    drain.begin(watch.page)
    drain.take()
    batch, num_lost = rows_of(run)
    assert batch.values[0].tolist() == list(range(1, 13))
    assert num_lost == 0
    drain.close()
    watch.close()
    again.close("finished", 0)
