"""The end of a stream of all runs, on their own machine."""

from __future__ import annotations

import json
import select
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ..runs.list.runs_poller import RunRow, RunsPoller
from .frames import PROTOCOL, Frame, write_frame
from .row_bounds import MAX_KEYS, MAX_METRICS, VALUE_CHARACTERS, plain_value

SOON_S = 0.05  # while some runs were never looked at
FRAME_BYTES = 1 << 18  # about, of the rows of one frame
MOST = 1e18  # of a number in the pipe
MOVED_S = 0.5  # a last publish that moved by more is another one


def send_list(out: BinaryIO, every_s: float, watcher: BinaryIO = sys.stdin.buffer) -> None:
    """Write what changed in the list of runs every `every_s`, a frame at least, until the other
    side is gone: until `out` breaks or `watcher`, from which nothing is ever expected, ends.
    """
    sender = _ListSender()
    try:
        while True:
            for frame in sender.look():
                write_frame(out, frame)
            pause_s = every_s if sender.is_complete else SOON_S
            ready, _, _ = select.select([watcher], [], [], pause_s)
            if ready and not watcher.read1(1):  # type: ignore[attr-defined]
                return
    except BrokenPipeError:
        return


class _ListSender:
    """Looks at all runs and remembers what of them was sent."""

    def __init__(self) -> None:
        self._poller = RunsPoller()
        self._sent: dict[str, tuple[RunRow, float]] = {}
        self.is_complete = False

    def look(self) -> Iterator[Frame]:
        """Frames with what changed; the last says whether that is all."""
        view = self._poller.poll()
        rows = {row.run.id: row for row in view.rows}
        gone = [run_id for run_id in self._sent if run_id not in rows]
        messages: list[dict[str, Any]] = []
        size_bytes = 0
        for run_id in gone:
            del self._sent[run_id]
        for run_id, row in rows.items():
            before = self._sent.get(run_id)
            if before and not _is_changed(row, *before):
                continue
            messages.append(_message(row, with_config=not before or before[0].config != row.config))
            self._sent[run_id] = row, _published_s(row)
            size_bytes += len(json.dumps(messages[-1]))
            if size_bytes >= FRAME_BYTES:
                yield _frame(messages, [], is_complete=False)
                messages, size_bytes = [], 0
        self.is_complete = view.is_complete
        yield _frame(messages, gone, view.is_complete)


def _frame(rows: list[dict[str, Any]], gone: list[str], is_complete: bool) -> Frame:
    return Frame({"protocol": PROTOCOL, "rows": rows, "gone": gone, "is_complete": is_complete})


def _is_changed(row: RunRow, before: RunRow, published_s: float) -> bool:
    """Whether more than the passing of time tells a row from the one that was sent."""
    if abs(_published_s(row) - published_s) > MOVED_S:
        return True
    return _timeless(row) != _timeless(before)


def _published_s(row: RunRow) -> float:
    """The moment of the last publish, by the poller's clock; 0 where there was none."""
    if row.status is None or row.status.age_s is None:
        return 0.0
    return row.looked_s - row.status.age_s


def _timeless(row: RunRow) -> RunRow:
    status = row.status and replace(row.status, age_s=None)
    return replace(row, status=status, looked_s=0.0, returns_s=0.0)


def _message(row: RunRow, *, with_config: bool) -> dict[str, Any]:
    """A row for the pipe: what is shown, sorted and searched by, and no more than a list needs."""
    message: dict[str, Any] = {
        "run": row.run.id,
        "is_page_expected": row.is_page_expected,
        "device": row.device,
        "notes": row.notes.as_json(),
        "returns": [min(max(value, -MOST), MOST) for value in row.returns],
    }
    if row.status:
        metrics = dict(list(row.status.metrics.items())[:MAX_METRICS])
        message["status"] = replace(row.status, metrics=metrics).as_fields()
    if with_config:
        values = list(row.config.items())[:MAX_KEYS]
        message["config"] = {key[:VALUE_CHARACTERS]: plain_value(value) for key, value in values}
    return message
