"""The runs of other machines, beside those of this one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from ...shared.errors import OperantError
from ...shared.runs.run_elsewhere import RunElsewhere
from ..runs.list.runs_poller import Machine, RunRow, RunsPoller, RunsView, all_rows
from .host import RemoteName, list_command
from .remote_run import RemoteRun
from .remote_stream import RemoteStream


class RemoteList:
    """The list of the runs of `host`. `start` keeps it up to date until `close`; what was seen
    stays while the host does not answer.
    """

    def __init__(self, host: str, now: Callable[[], float] = time.monotonic) -> None:
        self.host = host
        self.stream = RemoteStream(host, lambda may_ask: list_command(host, may_ask=may_ask), now)
        self._poller = RunsPoller(now, lambda: list(self.stream.mirror.runs.values()))

    def read_once(self, *, may_ask: bool) -> list[RunRow]:
        """All runs, as they are now. Raises OperantError where the machine cannot be asked."""
        try:
            self.stream.connect(lambda piece: piece.is_complete is True, may_ask=may_ask)
            return list(all_rows(self.poll))
        finally:
            self.stream.close()

    def poll(self) -> RunsView:
        """The runs as they are known by now; raises nothing."""
        view, trouble = self._poller.poll(), self.stream.trouble
        rows = [replace(row, host=self.host, is_lost=bool(trouble)) for row in view.rows]
        is_complete = self.stream.is_complete or not self.stream.is_connected
        return RunsView(
            tuple(row for row in rows if row.status),
            is_complete and view.is_complete,
            view.has_returns,
            (Machine(self.host, trouble),),
        )


class Machines:
    """The runs of `hosts` and, unless they are left out, of this machine. Hosts are asked from the
    first look on, in a thread for each: none holds up the others.
    """

    def __init__(self, hosts: Sequence[str], with_local: bool = True) -> None:
        self.lists = [RemoteList(host) for host in dict.fromkeys(hosts)]
        self._local = RunsPoller() if with_local else None
        self._has_begun = False

    def poll(self) -> RunsView:
        """All runs as they are known now, newest first; it raises nothing."""
        if not self._has_begun:
            self._has_begun = True
            for remote in self.lists:
                remote.stream.start()
        views = [self._local.poll()] if self._local else []
        views += [remote.poll() for remote in self.lists]
        return RunsView(
            tuple(newest_first([row for view in views for row in view.rows])),
            all(view.is_complete for view in views),
            all(view.has_returns for view in views),
            tuple(machine for view in views for machine in view.machines),
        )

    def open(self, run: RunElsewhere) -> RemoteRun:
        """A source of its views, which shows what the list knows until the run's stream comes."""
        source = RemoteRun(RemoteName(run.host, run.there), run)
        source.start()
        return source

    def close(self) -> None:
        for remote in self.lists:
            remote.stream.close()


def list_machines(hosts: Sequence[str]) -> tuple[list[RunRow], list[str]]:
    """The runs of this machine and of `hosts`, newest first, and a line for each host that could
    not be asked. Hosts are asked at the same time; ssh may ask for a password where there is one.
    """
    may_ask = len(hosts) == 1

    def listed(host: str) -> tuple[list[RunRow], str]:
        try:
            return RemoteList(host).read_once(may_ask=may_ask), ""
        except OperantError as error:
            return [], str(error)

    rows = all_rows(RunsPoller().poll)
    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        found = list(pool.map(listed, hosts))
    rows += [row for rows, _ in found for row in rows]
    return newest_first(rows), [trouble for _, trouble in found if trouble]


def newest_first(rows: Sequence[RunRow]) -> list[RunRow]:
    """By the second in the id; of the same second as they come."""
    return sorted(rows, key=lambda row: row.run.id.removeprefix(f"{row.host}:")[:15], reverse=True)
