"""The runs of several machines as one list."""

from __future__ import annotations

from collections.abc import Sequence

from ...shared.runs.run_folder import Run
from ..runs.list.runs_poller import Machine, RunRow, RunsPoller, RunsView
from .remote_list import RemoteList
from .remote_run import RemoteRun
from .run_elsewhere import RunElsewhere


class Machines:
    """The runs of `hosts` and, unless they are left out, of this machine. Hosts are asked from the
    first look on, each by a thread of its own: none holds up the others.
    """

    def __init__(self, hosts: Sequence[str], with_local: bool = True) -> None:
        self._lists = [RemoteList(host) for host in dict.fromkeys(hosts)]
        self._local = RunsPoller() if with_local else None
        self._has_begun = False
        self._known: dict[Run, RunRow] = {}

    def poll(self) -> RunsView:
        """All runs as they are known now, newest first; it raises nothing."""
        if not self._has_begun:
            self._has_begun = True
            for each in self._lists:
                each.start()
        local = self._local.poll() if self._local else RunsView((), True)
        listed = [(each.host, each.poll()) for each in self._lists]
        rows = newest_first([*local.rows, *(row for _, found in listed for row in found.rows)])
        self._known = {row.run: row for row in rows}
        return RunsView(
            tuple(rows),
            local.is_complete and all(found.is_complete for _, found in listed),
            local.has_returns,
            tuple(Machine(host, found.trouble) for host, found in listed),
        )

    def open(self, run: RunElsewhere) -> RemoteRun:
        """A source of its views, which shows what the list knows until the run tells more."""
        row = self._known.get(run)
        source = RemoteRun(run.remote, row.status if row else None)
        source.start()
        return source

    def close(self) -> None:
        for each in self._lists:
            each.close()


def newest_first(rows: Sequence[RunRow]) -> list[RunRow]:
    """By the second in the id; of the same second as they come."""
    return sorted(rows, key=lambda row: row.run.id.removeprefix(f"{row.host}:")[:15], reverse=True)
