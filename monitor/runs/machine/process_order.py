"""Which processes are shown, in which order, and as a list or as a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .processes import ProcessRow

# The columns, each with the key that rows are sorted by: the most first, or by letter.
ORDERS: dict[str, Callable[[ProcessRow], Any]] = {
    "cpu": lambda row: -(row.cpu_cores or 0.0),
    "memory": lambda row: -row.memory_bytes,
    "gpu": lambda row: -row.gpu_bytes,
    "run": lambda row: (row.member is None, row.member and row.member[1:]),
    "user": lambda row: row.user,
    "state": lambda row: row.state,
    "command": lambda row: row.command,
    "pid": lambda row: row.pid,
}


class Place(NamedTuple):
    """A process in the list. `branch` is drawn before its command: the lines of the tree."""

    row: ProcessRow
    branch: str = ""


def arranged(
    rows: Sequence[ProcessRow],
    is_wanted: Callable[[str], bool] = lambda text: True,
    order: str = "cpu",
    is_reversed: bool = False,
    is_tree: bool = False,
) -> list[Place]:
    """The `rows` whose text `is_wanted`, sorted by `order`. A tree also has all processes above
    these, and sorts those that have the same parent.
    """
    wanted = {row.pid for row in rows if is_wanted(_text(row))}
    if is_tree:
        wanted = _with_ancestors(wanted, rows)
    shown = [row for row in rows if row.pid in wanted]
    shown.sort(key=ORDERS[order], reverse=is_reversed)
    return _as_tree(shown) if is_tree else [Place(row) for row in shown]


def _text(row: ProcessRow) -> str:
    """What the words of a filter are compared with."""
    run = " ".join(row.member[1:]) if row.member else ""
    return f"{row.pid} {row.user} {row.state} {run} {row.command}"


def _with_ancestors(pids: set[int], rows: Sequence[ProcessRow]) -> set[int]:
    parents = {row.pid: row.parent for row in rows}
    found = set(pids)
    for pid in pids:
        above = parents[pid]
        while above in parents and above not in found:
            found.add(above)
            above = parents[above]
    return found


def _as_tree(rows: Sequence[ProcessRow]) -> list[Place]:
    """Children follow their parent, in the order that they have among `rows`."""
    pids = {row.pid for row in rows}
    children: dict[int | None, list[ProcessRow]] = {}
    for row in rows:
        has_parent = row.parent in pids and row.parent != row.pid
        children.setdefault(row.parent if has_parent else None, []).append(row)
    places = []
    # The next one to show is last: a process, its branch, and the lines that go on below it.
    left = [(row, "", "") for row in reversed(children.get(None, []))]
    while left:
        row, branch, lines = left.pop()
        places.append(Place(row, branch))
        for place, child in enumerate(reversed(children.get(row.pid, []))):
            fork, below = ("└─ ", "   ") if place == 0 else ("├─ ", "│  ")
            left.append((child, lines + fork, lines + below))
    return places
