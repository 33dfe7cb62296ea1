"""A run as a line of JSON for every snapshot."""

from __future__ import annotations

from collections.abc import Callable

from ...monitor.remote.host import RemoteName
from ...monitor.session.hang_up import waited_for_hang_up
from ...shared.errors import PageError
from ...shared.page.reader import MetricsReader
from ...shared.runs.run_folder import Run
from ...shared.runs.status import RunStatus, open_page, read_status
from .output import print_json

LOOK_AGAIN_S = 0.05


def follow_run(run: Run) -> None:
    """Print the status at every publish that is seen, and at last once the run has ended.

    Publishes that follow each other faster than `LOOK_AGAIN_S` are not all seen.
    """
    _follow(lambda: (read_status(run), _publish(run)))


def follow_remote(name: RemoteName) -> None:
    """The same for a run on another machine; a lost connection is said in the status's message, and
    made again.
    """
    from ...monitor.remote.remote_run import RemoteRun

    def look() -> tuple[RunStatus, int]:
        view = source.poll()
        return view.status, view.publish

    source = RemoteRun(name)
    source.connect()
    source.start()
    try:
        _follow(look)
    finally:
        source.close()


def _follow(look: Callable[[], tuple[RunStatus, int]]) -> None:
    """`look` gives the status and the number of the newest publish."""
    seen: object = None
    while True:
        status, publish = look()
        moment = (status.state, status.iteration, status.env_steps, status.message, publish)
        if moment != seen:
            seen = moment
            print_json(status.as_json())
        if not status.is_alive or waited_for_hang_up([1], LOOK_AGAIN_S):
            return


def _publish(run: Run) -> int:
    """The number of the newest publish; 0 where the page cannot be read."""
    reader: MetricsReader | None = None
    try:
        reader = open_page(run)
        snapshot = reader.read()
        return snapshot.publish if snapshot else 0
    except PageError:
        return 0
    finally:
        if reader:
            reader.detach()
