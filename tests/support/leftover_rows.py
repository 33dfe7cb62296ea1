"""The rows of a page that no recorder is beside, taken as one would take them."""

from __future__ import annotations

from operant.monitor.recorder.every_row import RowDrain
from operant.monitor.recorder.page_watch import PageWatch
from operant.shared.runs.run_folder import Run


def take_leftover_rows(run: Run) -> int:
    """Append to the run's file the rows that its page holds and it has not; how many. For whoever
    holds the recorder's lock, whether the run is alive or not.

    Raises PageError when the page or the file cannot be read, or a disk takes nothing.
    """
    watch, drain = PageWatch(run), RowDrain(run.rows_path)
    try:
        # As of a dead process: there is no later look that could wait for its page to settle.
        if not watch.look(is_alive=False) or watch.page is None:
            return 0
        drain.begin(watch.page)
        num_rows = 0
        while taken := drain.take():
            num_rows += taken
        return num_rows
    finally:
        drain.close()
        watch.close()
