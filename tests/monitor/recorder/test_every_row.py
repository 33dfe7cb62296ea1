"""Every row of a killed process is on disk, once and in order; what was lost is counted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest
from waiting import wait_for

from operant.monitor.recorder.every_row import RowDrain
from operant.monitor.recorder.page_watch import PageWatch
from operant.shared.processes.lock import RunLock
from operant.shared.rows.row_file_reader import RowFileReader
from operant.shared.rows.rows import joined
from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

LOG_FOR_EVER = """
import operant, sys
run = operant.init(name="killed")
print(run.id, flush=True)
step = 0
while True:
    step += 1
    operant.log({"a": step, "b": -step}, step=1_000_000 - step)
    print(step, flush=True)
"""


def rows_of(run):
    reader = RowFileReader(run.rows_path)
    try:
        return joined(list(reader.batches())), reader.num_lost()
    finally:
        reader.close()


@pytest.mark.parametrize("seed", range(2))
def test_every_row_of_a_process_that_was_killed_is_on_disk_once_and_in_order(seed):
    environment = {**os.environ, "OPERANT_RECORDER": "on"}
    trainer = subprocess.Popen(
        [sys.executable, "-c", LOG_FOR_EVER], stdout=subprocess.PIPE, text=True, env=environment
    )
    run = find_run(trainer.stdout.readline().strip())
    for _ in range(random.Random(seed).randint(1, 3000)):
        trainer.stdout.readline()
    trainer.send_signal(signal.SIGKILL)
    said = [int(line) for line in trainer.stdout.read().split("\n")[:-1] if line]
    trainer.wait()
    trainer.stdout.close()
    wait_for(lambda: run.page_copy_path.exists() and not os.listdir(os.environ["OPERANT_PAGES"]))
    batch, num_lost = rows_of(run)
    assert num_lost == 0
    last = int(batch.publish[-1])
    assert batch.publish.tolist() == list(range(1, last + 1))
    # A row waits for its step's end: all but the newest of those it said it had logged.
    assert last >= max(said, default=1) - 1
    assert batch.env_steps.tolist() == [1_000_000 - number for number in range(1, last + 1)]
    assert batch.values[0].tolist() == batch.publish.tolist()


def test_rows_that_were_overwritten_before_anyone_took_them_are_counted():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=60.0, recorder=None)
    names = [f"m{i}" for i in range(200)]  # 1,664 bytes a row: 11 MiB hold 6,931
    watch, drain = PageWatch(run), RowDrain(run.rows_path)
    assert watch.look(is_alive=True)
    drain.begin(watch.page)
    session.metrics.publish(dict.fromkeys(names, 1.0))
    assert drain.take() == 1
    for number in range(2, 8001):
        session.metrics.publish(dict.fromkeys(names, float(number)))
    taken = drain.take()
    batch, num_lost = rows_of(run)
    assert 6900 < taken < 7000
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
