"""edit and rm."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import click
import pytest
from command_line import PATIENCE_S, error_line, operant, operant_json
from waiting import wait_for

from operant.cli import cli
from operant.commands.helpers.numbers import parse_duration
from operant.shared.errors import OperantError, UsageError
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import Run, create_run
from operant.shared.runs.session import RunSession

pytestmark = pytest.mark.slow


def ended_run(name: str, state="finished") -> Run:
    run, lock = create_run(name, {"config": {"seed": 1}})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"loss": 0.5}, 3, 30)
    session.close(state, 0)
    return run


@pytest.fixture
def runs() -> list[Run]:
    return [ended_run("alpha"), ended_run("beta", "failed"), ended_run("gamma")]


def done(*arguments: str) -> str:
    """Output of a successful command."""
    answer = operant(*arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_notes_and_tags_are_written_shown_and_taken_away(runs):
    assert done("edit", "alpha", "--note", "a wider network") == f"{runs[0].id}: a wider network\n"
    printed = done("edit", "alpha", "--tag", "baseline", "--tag", "v2")
    assert printed == f"{runs[0].id}: #baseline #v2 a wider network\n"
    status = operant_json("status", "alpha")
    assert (status["note"], status["tags"]) == ("a wider network", ["baseline", "v2"])
    assert "#baseline #v2 a wider network" in done("status", "alpha")
    assert "#baseline" in done("monitor", "alpha", "--once")
    by_id = {status["id"]: status for status in operant_json("runs")}
    assert by_id[runs[0].id]["tags"] == ["baseline", "v2"]
    assert by_id[runs[1].id]["tags"] == []
    assert "#baseline" in done("runs")
    assert operant_json("edit", "alpha", "--untag", "v2")["tags"] == ["baseline"]
    printed = done("edit", "alpha", "--note", "none", "--untag", "baseline")
    assert printed == f"{runs[0].id}: no name, note or tag\n"
    assert operant_json("status", "alpha")["note"] == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["edit"], "Missing argument"),
        (["edit", "alpha"], "nothing to change: give --note"),
        (["edit", "nonsense", "--note", "x"], "no run is called 'nonsense'"),
        (["edit", "gpu-box:alpha", "--note", "x"], "there: `ssh gpu-box operant edit alpha`"),
        (["edit", "alpha", "--tag", "two words"], "is not a valid tag"),
        (["edit", "alpha", "--untag", "x"], "has no tag 'x'"),
        (["edit", "alpha", "--rename", "a:b"], "contain a colon"),
        (["edit", "alpha", "--rename", "latest"], "'latest' always names the newest run"),
        (["rm"], "--older-than 30d, --filter state:crashed"),
        (["rm", "--older-than", "soon"], "--older-than soon is not a duration; write 45m"),
        (["rm", "--filter", "state:crashd"], "--filter state:crashd: "),
        (["rm", "alpha", "--json"], "pass --yes (no terminal to ask on)"),
        (["rm", "alpha"], "pass --yes (no terminal to ask on)"),
    ],
)
def test_what_is_wrong_is_one_line_and_changes_nothing(runs, arguments, says):
    with pytest.raises((OperantError, click.ClickException)) as error:
        cli(arguments, standalone_mode=False)
    problem = error.value
    words = problem.format_message() if isinstance(problem, click.ClickException) else str(problem)
    assert says in words
    assert "\n" not in words
    assert len(list_runs()) == 3
    assert not any(run.notes_path.exists() for run in runs)


def test_a_name_is_shown_finds_the_run_and_is_nobody_elses(runs):
    done("edit", "alpha", "--rename", "wide  network")
    status = operant_json("status", "wide network")
    assert (status["id"], status["name"]) == (runs[0].id, "wide network")
    assert f"wide network ({runs[0].id})" in done("status", "wide")
    assert "  wide network  " in done("runs")
    line = error_line("edit", "beta", "--rename", "wide network")
    assert f"called 'wide network': {runs[0].id}" in line
    assert "another run is called" in error_line("edit", "beta", "--rename", runs[2].id)
    done("edit", "wide network", "--rename", "wide network")
    done("edit", "alpha", "--rename", "none")
    assert operant_json("status", "alpha")["name"] == ""
    assert runs[0].folder.exists()


def test_archived_runs_are_listed_where_they_are_asked_for(runs):
    for name in ("alpha", "beta"):
        assert done("edit", name, "--archive").endswith(": (archived)\n")
    assert [status["id"] for status in operant_json("runs")] == [runs[2].id]
    archived = {status["id"] for status in operant_json("runs", "archived:yes")}
    assert archived == {runs[0].id, runs[1].id}
    done("edit", "gamma", "--archive")
    assert "operant runs archived:yes" in done("runs")
    done("edit", "alpha", "--unarchive")
    assert [status["id"] for status in operant_json("runs")] == [runs[0].id]


def test_rm_chooses_by_state_and_by_age(runs):
    assert "removed 1 run" in done("rm", "--filter", "state:failed,crashed", "-y")
    assert runs[1] not in list_runs()
    assert done("rm", "--older-than", "1d", "--yes") == "no run matches; nothing was removed\n"
    assert "removed 2 runs" in done("rm", "--older-than", "0s", "--yes")
    assert list_runs() == []


def test_rm_leaves_archived_runs_alone_unless_they_are_asked_for(runs):
    done("edit", "alpha", "--archive")
    done("rm", "--older-than", "0s", "--yes")
    assert list_runs() == [runs[0]]
    done("rm", "--filter", "archived:yes", "--yes")
    assert list_runs() == []


def test_a_dry_run_shows_what_would_go_and_removes_nothing(runs):
    shown = done("rm", "alpha", "gamma", "--dry-run")
    assert runs[0].id in shown
    assert shown.splitlines()[-1].startswith("would remove 2 runs, ")
    answer = operant_json("rm", "alpha", "--dry-run")
    assert (answer["ids"], answer["dry_run"]) == ([runs[0].id], True)
    assert len(list_runs()) == 3
    assert operant_json("rm", "alpha", "-y")["ids"] == [runs[0].id]
    assert len(list_runs()) == 2


def test_rm_refuses_the_running_and_then_removes_nothing_of_what_was_named(runs):
    run, lock = create_run("lives", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"loss": 0.5})
    assert "operant stop" in error_line("rm", "alpha", "lives", "--yes")
    assert len(list_runs()) == 4
    done("rm", "--older-than", "0s", "--yes")
    assert list_runs() == [run]
    session.close("stopped", 0)


def test_rm_keeps_what_goes_on_from_checkpoints(runs):
    runs[0].checkpoint_folder.mkdir()
    (runs[0].checkpoint_folder / "iteration-3.pt").write_bytes(b"x")
    (runs[0].folder / "rows.sqlite").write_bytes(b"x" * 5000)
    done("edit", "alpha", "--note", "worth it")
    done("rm", "alpha", "--keep-checkpoints", "--yes")
    assert not (runs[0].folder / "rows.sqlite").exists()
    status = operant_json("status", "alpha")
    assert (status["state"], status["note"], status["metrics"]) == (
        "finished", "worth it", {"loss": 0.5},
    )  # fmt: skip


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_rm_shows_what_goes_and_asks(runs, answer):
    done("edit", "alpha", "--tag", "baseline")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "operant", "rm", "alpha"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = bytearray()

    def asks() -> bool:
        said.extend(os.read(ours, 4096))
        return b"[y/N]" in said

    wait_for(asks)
    assert f"{runs[0].id}  finished ".encode() in said
    assert b"#baseline" in said
    os.write(ours, f"{answer}\n".encode())
    assert process.wait(PATIENCE_S) == 0
    os.close(ours)
    assert len(list_runs()) == (2 if answer == "y" else 3)


def test_times_are_as_people_write_them():
    assert parse_duration("--older-than", "30d") == 30 * 86_400
    assert parse_duration("--older-than", "1.5h") == 5400
    for text in ("", "30", "d", "-1d", "nan", "1e99d"):
        with pytest.raises(UsageError, match="is not a duration"):
            parse_duration("--older-than", text)
