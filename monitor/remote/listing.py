"""One look at the runs of several machines."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...shared.errors import OperantError
from ..runs.list.runs_poller import RunRow, RunsPoller
from .machines import newest_first
from .remote_list import RemoteList


def list_machines(hosts: Sequence[str]) -> tuple[list[RunRow], list[str]]:
    """The runs of this machine and of `hosts`, newest first, and a line for each host that could
    not be asked. Hosts are asked at the same time; ssh may ask for a password where there is one.
    """
    may_ask = len(hosts) == 1

    def listed(host: str) -> tuple[tuple[RunRow, ...], str]:
        try:
            return RemoteList(host).read_once(may_ask=may_ask).rows, ""
        except OperantError as error:
            return (), str(error)

    local = RunsPoller()
    view = local.poll()
    while not view.is_complete:
        view = local.poll()
    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        found = list(pool.map(listed, hosts))
    rows = [*view.rows, *(row for rows, _ in found for row in rows)]
    return newest_first(rows), [trouble for _, trouble in found if trouble]
