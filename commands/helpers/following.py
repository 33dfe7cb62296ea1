"""A run as a line for every snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.session.hang_up import waited_for_hang_up
from .choosing_a_run import chosen_host, chosen_run
from .output import headline, print_json, print_line, run_json

if TYPE_CHECKING:
    from ...monitor.runs.reading.run_source import RunSource

LOOK_AGAIN_S = 0.05
MAX_ROWS = 64  # of views whose curves nobody draws


def follow_anywhere(name: str | None, latest: bool, as_json: bool) -> None:
    """Print the status of a run, here or as HOST:RUN, at every publish that is seen, and at last
    once the run has ended.

    Publishes that follow each other faster than `LOOK_AGAIN_S` are not all seen. The message of a
    status says that the connection was lost; it is made again.
    """
    remote = chosen_host(name, latest)
    source: RunSource
    if remote:
        from ...monitor.remote.remote_run import RemoteRun

        source = elsewhere = RemoteRun(remote)
        elsewhere.connect()
        elsewhere.start()
    else:
        from ...monitor.runs.reading.run_poller import RunPoller

        source = RunPoller(chosen_run(name, latest), max_rows=MAX_ROWS)
    host = remote.host if remote else None
    seen: object = None
    try:
        while True:
            view = source.poll()
            status = view.status
            moment = status.state, status.iteration, status.env_steps, status.message, view.publish
            if moment != seen:
                seen = moment
                if as_json:
                    run = None if remote else source.run
                    print_json(run_json(status, view.notes, run, host=host))
                else:
                    print_line(f"{status.run}: {headline(status)}")
            if not status.is_alive or waited_for_hang_up([1], LOOK_AGAIN_S):
                return
    finally:
        source.close()
