"""Notes, tags and the configuration, as people read and write them in the monitor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from apps import watching
from screens import notifies, screen_text, shows, until
from textual.widgets import Input
from views import StillRun, StillRuns, make_row, make_view, texts

from operant.monitor.app import MonitorApp
from operant.monitor.charts.shown_run import Look, Watched
from operant.monitor.panels.run_table import run_columns
from operant.monitor.render.columns import draw_row, fit_columns
from operant.monitor.runs.list.filter_terms import FilterError, parse_filter
from operant.monitor.runs.list.run_filter import filtered
from operant.monitor.runs.list.runs_poller import RunsPoller, RunsView
from operant.monitor.runs.reading.run_description import description_of
from operant.monitor.screens import dialog
from operant.monitor.screens.dialog import ELSEWHERE, READ_ONLY, NoteDialog
from operant.monitor.widgets.config_panel import (
    ConfigPanel,
    difference_lines,
    in_words,
    num_more,
    own_lines,
)
from operant.shared.errors import OperantError
from operant.shared.runs.run_elsewhere import RunElsewhere
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.run_notes import RunNotes, change_notes

MANIFEST = {
    "config": {"seed": 1, "ppo": {"gamma": 0.9, "sizes": [64, 64]}, "flag": True},
    "defaults": {"ppo.gamma": 0.99},
    "git_commit": "3f2a9c1",
    "created": "now",
}


def a_run(**manifest) -> Run:
    run, lock = create_run("test", MANIFEST | manifest)
    lock.release()
    return run


def watched(place: int, **changes) -> Watched:
    view = make_view()
    manifest = MANIFEST | {"config": MANIFEST["config"] | changes}
    status = replace(view.status, run=f"20261121-142530-run{place}")
    view = replace(view, status=status, description=description_of(manifest))
    return Watched(view, Look(place))


def test_what_is_not_by_default_comes_first_with_its_default():
    view = replace(watched(0).view, notes=RunNotes(note="wide", tags=("a", "b")))
    lines = [line.rstrip() for line in texts(own_lines(view, 60))]
    assert lines[:4] == ["  tags  #a #b", "  note  wide", "• ppo.gamma     0.9  (default 0.99)",
                         "  by default"]  # fmt: skip
    assert [line.split() for line in lines[4:7]] == [
        ["seed", "1"], ["ppo.sizes", "[64,", "64]"], ["flag", "true"],
    ]  # fmt: skip
    assert any("git_commit" in line for line in lines[7:])


SOURCES = {"preset cart_pole_ppo": ["ppo.gamma", "flag"], "overlay fast": ["ppo.sizes"]}


def test_settings_stand_below_their_source_and_yours_come_first():
    manifest = MANIFEST | {"sources": {**SOURCES, "you": ["seed"]}}
    manifest["config"] = {"env": "cart_pole", **MANIFEST["config"]}
    view = replace(make_view(), description=description_of(manifest))
    lines = [" ".join(line.split()) for line in texts(own_lines(view, 60))]
    assert lines[:9] == [
        "set by you", "• seed 1",
        "from overlay fast", "ppo.sizes [64, 64]",
        "from preset cart_pole_ppo", "ppo.gamma 0.9 (default 0.99)", "flag true",
        "defaults", "env cart_pole",
    ]  # fmt: skip
    assert in_words(view) == "1 of 5 set by you"


def test_defaults_for_an_environment_stand_with_all_others():
    manifest = MANIFEST | {
        "sources": {"defaults of ppo": ["ppo.gamma"], "your file a.toml": ["flag"]}
    }
    view = replace(make_view(), description=description_of(manifest))
    lines = [" ".join(line.split()) for line in texts(own_lines(view, 60))]
    assert lines[:4] == ["from your file a.toml", "• flag true", "defaults of ppo", "seed 1"]
    assert lines[4].startswith("ppo.gamma")


@pytest.mark.parametrize("odd", [None, 5, {"you": "seed"}, {"": ["seed"], "\x1b[2J": [{}, "flag"]}])
def test_odd_sources_are_shown_as_far_as_they_can_be(odd):
    view = replace(make_view(), description=description_of(MANIFEST | {"sources": odd}))
    lines = texts(own_lines(view, 60))
    assert any("ppo.gamma" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_long_values_are_broken_and_lose_nothing():
    told = description_of({"config": {"words": " ".join(f"word{i}" for i in range(40))}})
    view = replace(make_view(), description=told)
    lines = texts(own_lines(view, 40))
    assert all(len(line.rstrip()) <= 40 for line in lines)
    assert all(f"word{i}" in " ".join(lines) for i in range(40))


def test_the_summary_stands_with_how_the_run_was_started():
    started = description_of({"config": {"lr": 1}, "summary": {"best": {"acc": 0.5}}}).started
    assert [(each.key, each.value) for each in started] == [("summary.best.acc", "0.5")]
    assert description_of({"config": {"lr": 1}, "summary": {}}).started == ()


def test_of_several_runs_only_what_differs_is_in_the_table():
    runs = [watched(0), watched(1, seed=2), watched(2, extra="x")]
    head, lines = difference_lines(runs, 100)
    rows = [text.split() for text in texts(lines)]
    assert rows[0] == ["seed", "1", "2", "1"]
    assert rows[1] == ["extra", "-", "-", "x"]
    assert "run0" in texts(head)[0]
    assert not any("git_commit" in row for row in rows)


DIFF = """# not in git: new.py
diff --git a/train.py b/train.py
index 1..2 100644
--- a/train.py
+++ b/train.py
@@ -1 +1 @@
-lr = 1
+lr = 2
++++ odd
"""


def test_what_was_changed_since_the_commit_stands_at_the_end():
    description = description_of(MANIFEST, DIFF + "+\x1b[2J" + "x" * 99, "numpy==2.1\ntorch==2\n")
    lines = own_lines(replace(make_view(), description=description), 60)
    plain = [line.rstrip() for line in texts(lines)]
    assert any(line.split() == ["git_diff", "1", "file;", "not", "in", "git:", "new.py"]
               for line in plain)  # fmt: skip
    assert any(line.split() == ["packages", "2,", "in", "packages.txt"] for line in plain)
    start = plain.index("  git.diff")
    assert plain[start + 1 : start + 3] == [
        "# not in git: new.py",
        "diff --git a/train.py b/train.py",
    ]
    assert [line[0][1] for line in lines[start + 7 : start + 9]] == ["warning", "good"]
    assert plain[-2:] == ["+ [2J" + "x" * 55, "x" * 44]
    assert all(len(line) <= 60 for line in plain)


def test_runs_are_compared_by_their_changes_and_packages():
    def run(place: int, diff: str, packages: str = "a==1\nnumpy==2.1\n") -> Watched:
        one = watched(place)
        description = description_of(MANIFEST, diff, packages)
        return one._replace(view=replace(one.view, description=description))

    def rows(*runs: Watched) -> list[str]:
        return texts(difference_lines(runs, 140)[1])

    moved = DIFF.replace("@@ -1 +1 @@", "@@ -7 +7 @@").replace("index 1..2", "index 3..4")
    assert not any("git_diff train.py" in row for row in rows(run(0, DIFF), run(1, moved)))
    other = run(1, DIFF.replace("lr = 2", "lr = 3"), "a==1\nnumpy==2.2\n")
    lines = rows(run(0, DIFF), other, run(2, "# no changes\n"))
    found = {line.split()[0]: line for line in lines if line.strip()}
    assert found["versions.numpy"].split()[1:] == ["2.1", "2.2", "2.1"]
    assert "versions.a" not in found
    (changed,) = (line for line in lines if "git_diff train.py" in line)
    assert changed.count("+2 -1 ") == 2
    assert changed.split()[-1] == "-"
    # What is known of one run only is no difference.
    for diff, packages in [("", ""), ("# not known: git is not installed\n", "")]:
        lines = rows(run(0, DIFF), run(1, diff, packages))
        assert not any("git_diff train.py" in line or "numpy" in line for line in lines)


def test_with_a_reference_newest_values_have_their_distance_in_percent():
    runs = [watched(0), watched(1)._replace(is_reference=True)]
    values = {"a": 3.0, "b": 1.0}, {"a": 2.0, "b": 0.0}
    runs = [
        one._replace(view=replace(one.view, status=replace(one.view.status, metrics=metrics)))
        for one, metrics in zip(runs, values, strict=True)
    ]
    rows = [line.split() for line in texts(difference_lines(runs, 100)[1])]
    assert ["a", "3.000", "+50.0%", "2.000"] in rows
    assert ["b", "1.000", "0"] in rows
    narrow = [line.split() for line in texts(difference_lines(runs, 36)[1])]
    assert ["a", "3.000", "2.000"] in narrow


def test_of_several_runs_what_you_set_is_marked():
    def with_sources(run: Watched, **sources) -> Watched:
        description = description_of(
            {"config": dict(each[:2] for each in run.view.description.settings), "sources": sources}
        )
        return run._replace(view=replace(run.view, description=description))

    words = "x" * 50
    runs = [
        with_sources(watched(0), you=["flag"]), with_sources(watched(1, seed=2), you=["seed"]),
        watched(2, seed=words), with_sources(watched(3, seed=words), you=["seed"]),
    ]  # fmt: skip
    _, lines = difference_lines(runs, 80)
    seeds = [text.strip() for text, _ in lines[0]]
    assert seeds[:3] == ["seed", "1", "2 •"]
    assert not seeds[3].endswith("•")
    assert seeds[4].startswith("xxx")
    assert seeds[4].endswith(" •")
    assert "• set by you" in [text.strip() for text in texts(lines)]
    assert max(map(len, texts(lines))) <= 80
    old = [watched(0), watched(1, seed=2)]
    assert not any("set by you" in text for text in texts(difference_lines(old, 80)[1]))


def test_of_newest_values_those_that_differ_and_the_best_stands_out():
    better = watched(1)
    metrics = better.view.status.metrics | {"episode/return": 499.0, "loss/value": 1e9}
    better = better._replace(
        view=replace(better.view, status=replace(better.view.status, metrics=metrics))
    )
    _, lines = difference_lines([watched(0), better], 80)
    by_name = {line[0][0].strip(): line for line in lines if line}
    assert [style for _, style in by_name["episode/return"][1:]] == ["text", "good"]
    assert [style for _, style in by_name["loss/value"][1:]] == ["good", "text"]
    assert "policy/entropy" not in by_name


def test_where_not_all_runs_have_room_it_is_said():
    runs = [watched(i, seed=i) for i in range(8)]
    assert num_more(runs, 200) == 0
    assert num_more(runs, 56) == 4
    head, lines = difference_lines(runs, 56)
    assert len(head[0]) == 1 + 2 * 4
    assert all(len(text) <= 56 for text in texts(lines))


def test_a_run_without_a_configuration_has_none():
    assert own_lines(make_view(), 60) == []
    for odd in ({}, {"config": 5, "defaults": []}, {"config": {"a": {}}}):
        own_lines(replace(make_view(), description=description_of(odd)), 60)


async def test_the_configuration_opens_scrolls_and_is_searched():
    config = {f"key{i:02}": i for i in range(60)} | {"needle": 7}
    told = description_of(MANIFEST | {"config": config, "defaults": {}})
    view = replace(make_view(), description=told)
    app = watching(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("6", "enter")
        await until(pilot, shows(pilot, "0 of 61 not by default", "key00"))
        await pilot.press("end")
        await until(pilot, shows(pilot, "git_commit"))
        assert "key00" not in screen_text(app)
        await pilot.press("home", "slash", *"needle", "enter")
        await until(pilot, shows(pilot, "/needle: 1 line "))
        assert "key01" not in screen_text(app)
        assert isinstance(app.focused, ConfigPanel)
        await pilot.press("escape", "6")
        await until(pilot, lambda: not app.screen.query_one(ConfigPanel).display)


async def test_a_note_is_left_as_it_was_or_written_or_a_line_says_why_it_cannot_be(monkeypatch):
    def full(folder, change):
        raise OperantError("the disk is full")

    run = a_run(notes="old")
    source = StillRun(replace(make_view(), notes=run.notes()))
    source.run = run
    app = MonitorApp(run, run_source=lambda _: source)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteDialog))
        assert app.screen.query_one(Input).value == "old"
        await pilot.press("x", "escape")
        await until(pilot, lambda: not isinstance(app.screen, NoteDialog))
        assert not run.notes_path.exists()
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteDialog))
        with monkeypatch.context() as disk:
            disk.setattr(dialog, "change_notes", full)
            await pilot.press(*" wide", "enter")
            await until(pilot, shows(pilot, "the disk is full", "old wide"))
        await pilot.press("enter")
        await until(pilot, lambda: run.notes().note == "old wide")
        assert not isinstance(app.screen, NoteDialog)


@pytest.mark.parametrize("is_remote", [True, False])
async def test_where_nothing_may_be_written_it_is_said(is_remote):
    source = StillRun(make_view())
    if is_remote:
        source.run = RunElsewhere("gpu-box", "test", Path())
    app = MonitorApp(source.run, run_source=lambda _: source, is_readonly=not is_remote)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, shows(pilot, "episode/return"))
        await pilot.press("e")
        words = ELSEWHERE if is_remote else READ_ONLY
        await until(pilot, notifies(app, words))
        assert not isinstance(app.screen, NoteDialog)


NOTED = [
    replace(make_row("a-aaaa", "running"), notes=RunNotes(tags=("baseline", "v1"))),
    replace(make_row("b-bbbb", "running"), notes=RunNotes("renamed", "a wide one", ("v10",))),
    replace(make_row("c-cccc", "failed"), notes=RunNotes(is_archived=True, tags=("v1",))),
    make_row("d-dddd", "running"),
]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", "abd"),
        ("tag:BASELINE", "a"),
        ("tag:v1,v10", "ab"),
        ("note:wide", "b"),
        ("renamed", "b"),
        ("archived:yes", "c"),
        ("archived:yes,no tag:v1", "ac"),
    ],
)
def test_the_list_is_filtered_by_what_people_wrote(text, left):
    assert "".join(row.run.id[-1] for row in filtered(NOTED, parse_filter(text))) == left


def test_archived_is_yes_or_no():
    with pytest.raises(FilterError, match="expected archived:yes or archived:no"):
        parse_filter("archived:perhaps")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_row_of_the_list_keeps_its_columns_whatever_is_written(width):
    row, fitted = make_row("cart_pole-ppo-k3f9", "running"), fit_columns(run_columns(), width - 3)
    plain, noted = (
        "".join(text for text, _ in draw_row(fitted, replace(row, notes=notes)))
        for notes in (RunNotes(), RunNotes("", "long " * 50, ("tag", "t" * 50)))
    )
    assert len(plain) == len(noted)
    assert plain.rstrip().split()[-3:] == noted.rstrip().split()[-3:]
    assert ("#tag" in noted) == (width > 60)


async def test_the_list_leaves_archived_runs_out_and_notes_the_selected_one():
    noted = replace(NOTED[0], run=a_run())
    app = MonitorApp(runs_source=StillRuns(RunsView((noted, *NOTED[1:]), True)))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, shows(pilot, "3 runs", "renamed", "#baseline"))
        assert "c-cccc" not in screen_text(app)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, NoteDialog))
        await pilot.press(*"wide", "enter")
        await until(pilot, lambda: noted.run.notes().note == "wide")
        await pilot.press("slash", *"archived:yes", "enter")
        await until(pilot, shows(pilot, "1 of 4 runs", "c-cccc"))


def test_the_poller_sees_what_is_written_meanwhile():
    run = a_run()
    poller = RunsPoller()
    assert poller.poll().rows[0].notes == RunNotes()
    change_notes(run.folder, lambda notes: notes.with_tags(["new"]))
    assert poller.poll().rows[0].notes.tags == ("new",)
