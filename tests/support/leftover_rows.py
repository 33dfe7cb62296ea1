"""The rows of pages that no recorder is beside, taken as one would take them."""

from __future__ import annotations

from operant.monitor.recorder.every_row import RowDrain
from operant.monitor.recorder.page_watch import PageWatch
from operant.shared.runs.run_folder import Run


def take_leftover_rows(run: Run) -> int:
    """Append to the run's files, rank by rank, the rows that its pages hold and they have not; how
    many. For whoever holds the recorder's lock, whether the run is alive or not.

    Raises PageError when a page or a file cannot be read, or a disk takes nothing.
    """
    return sum(_take_rank(run, rank) for rank in run.ranks())


def _take_rank(run: Run, rank: int) -> int:
    watch, drain = PageWatch(run, rank), RowDrain(run.rows_path(rank))
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
