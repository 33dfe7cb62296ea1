"""A run as a line of JSON for every snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.remote.host import RemoteName
from ...monitor.session.hang_up import waited_for_hang_up
from ...shared.runs.run_folder import Run
from .output import print_json

if TYPE_CHECKING:
    from ...monitor.runs.reading.run_source import RunSource

LOOK_AGAIN_S = 0.05
MAX_ROWS = 64  # of views whose curves nobody draws


def follow_run(run: Run) -> None:
    """Print the status at every publish that is seen, and at last once the run has ended.

    Publishes that follow each other faster than `LOOK_AGAIN_S` are not all seen.
    """
    from ...monitor.runs.reading.run_poller import RunPoller

    _follow(RunPoller(run, max_rows=MAX_ROWS))


def follow_remote(name: RemoteName) -> None:
    """Print the statuses of a run on another machine, as `follow_run` does. The message of a status
    says that the connection was lost; it is made again.
    """
    from ...monitor.remote.remote_run import RemoteRun

    source = RemoteRun(name)
    source.connect()
    source.start()
    _follow(source)


def _follow(source: RunSource) -> None:
    seen: object = None
    try:
        while True:
            view = source.poll()
            status = view.status
            moment = status.state, status.iteration, status.env_steps, status.message, view.publish
            if moment != seen:
                seen = moment
                print_json(status.as_json())
            if not status.is_alive or waited_for_hang_up([1], LOOK_AGAIN_S):
                return
    finally:
        source.close()
