"""Groups are looked at little by little, and stay the same while nothing happens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from groups import ROWS, member
from views import StillRun

from operant.monitor.runs.list.group_source import GroupsLooker, WatchedGroup
from operant.shared.runs.run_folder import Run

RUNS = tuple(row.run for row in ROWS)


class Counted(StillRun):
    num_polls = 0

    def poll(self):
        self.num_polls += 1
        return super().poll()


def looker(sources, spread=lambda: "range"):
    groups = [WatchedGroup("a · 3 seeds", RUNS[:3]), WatchedGroup("b · 3 seeds", RUNS[3:])]
    return GroupsLooker(groups, lambda run: sources[run], spread)


def counted() -> dict:
    return {row.run: Counted(member(row).view) for row in ROWS}


def test_ended_runs_are_looked_at_once_and_then_now_and_then():
    sources = counted()
    alive = sources[RUNS[0]]
    alive.view = replace(alive.view, status=replace(alive.view.status, state="running"))
    looks = looker(sources)
    for _ in range(5):
        looks.look()
    assert alive.num_polls == 5
    assert {sources[run].num_polls for run in RUNS[1:]} == {1}


def test_a_group_of_which_nothing_changed_is_the_very_same():
    sources = counted()
    view = sources[RUNS[0]].view
    view = replace(view, status=replace(view.status, state="running"))
    sources[RUNS[0]].view = view
    spread = ["range"]
    looks = looker(sources, lambda: spread[0])
    first, second = looks.look(), looks.look()
    assert [a.watched is b.watched for a, b in zip(first, second, strict=True)] == [True, True]
    sources[RUNS[0]].view = replace(view, publish=view.publish + 1)
    third = looks.look()
    assert [a.watched is b.watched for a, b in zip(first, third, strict=True)] == [False, True]
    spread[0] = "quartiles"
    fourth = looks.look()
    assert [a.watched is b.watched for a, b in zip(third, fourth, strict=True)] == [False, False]


def test_all_sources_are_closed():
    sources = counted()
    looks = looker(sources)
    looks.look()
    looks.close()
    assert all(source.is_closed for source in sources.values())


def test_of_many_runs_all_are_looked_at_again_some_time():
    runs = [replace(row, run=Run(Path(f"20260101-000000-many-{i:04}")))
            for i, row in enumerate([*ROWS, *ROWS] * 5)]  # fmt: skip
    sources = {row.run: Counted(member(row).view) for row in runs}
    for source in list(sources.values())[:20]:
        status = replace(source.view.status, state="running")
        source.view = replace(source.view, status=status)
    group = WatchedGroup("many", tuple(sources))
    looks = GroupsLooker([group], lambda run: sources[run], lambda: "range")
    for _ in range(60):
        looks.look()
    assert min(source.num_polls for source in sources.values()) > 1
