"""runs, status, stop, eval and monitor without a screen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from command_line import SHORT, error_line, operant, operant_json, python

from operant.cli import cli
from operant.commands.former import NOW
from operant.commands.helpers.output import print_json
from operant.shared.errors import OperantError, UsageError
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

STATUS_FIELDS = {
    "id", "folder", "host", "device", "name", "note", "tags", "archived", "state", "age_s",
    "iteration", "env_steps", "env_steps_per_s", "progress_fraction", "eta_s", "metrics", "message",
    "phase", "phase_s", "phase_done", "phase_total", "phase_unit", "phase_left_s",
}  # fmt: skip


@pytest.fixture
def finished_run():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"loss": 0.5, "bad": float("inf")}, 3, 30)
    session.metrics.publish({"never": float("nan")}, 4, 40)
    session.close("finished", 0, "done")
    return run


@pytest.mark.parametrize("arguments", [(), ("tinyphysics",)])
def test_a_command_that_lacks_its_own_command_prints_its_help(arguments):
    done = operant(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == operant(*arguments, "--help").stdout


def commands_of(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of all commands and groups below `group`, of hidden ones too."""
    yield path
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("path", commands_of(cli), ids=" ".join)
def test_each_command_answers_h_with_its_help(path):
    done = CliRunner().invoke(cli, [*path, "-h"], prog_name="operant")
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"Usage: {' '.join(['operant', *path])} ")
    assert "-h, --help" in done.output


def test_the_help_of_all_commands_is_whole_in_80_columns_and_in_groups():
    lines = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.splitlines()
    titles = [line for line in lines if re.fullmatch(r"[A-Z][a-z]+:", line)]
    assert titles == ["Options:", "Train:", "Watch:", "Change:", "Exchange:"]
    rows = lines[lines.index("Train:") :]
    listed = [row.split()[0] for row in rows if row.startswith("  ")]
    hidden = {"record", "stream", "rank"}
    assert listed == [name for name in cli.list_commands(click.Context(cli)) if name not in hidden]
    assert all(row.endswith(".") and len(row) <= 80 for row in rows if row.startswith("  "))


def arguments_of(former: str) -> list[str]:
    """The former command as people typed it: `export --to` as `export x --to x`."""
    *words, last = former.split()
    return [*words, "x", last, "x"] if last.startswith("-") else [*words, last, "x"]


@pytest.mark.parametrize("former", NOW)
def test_a_former_command_is_answered_with_what_to_write_now(former):
    with pytest.raises(UsageError) as error:
        cli(arguments_of(former), standalone_mode=False)
    assert str(error.value) == f"`operant {former}` is now `operant {NOW[former]}`"


def test_the_word_latest_is_the_newest_run_wherever_a_run_is_taken(finished_run):
    other, lock = create_run("newer", {})
    RunSession(other, lock, publish_interval_s=1).close("finished", 0)
    for command in (["status"], ["edit", "--note", "last"], ["stop"]):
        assert operant_json(*command, "latest")["id"] == other.id
    assert operant_json("rm", "latest", "--dry-run")["ids"] == [other.id]
    assert "stop which run?" in error_line("stop")


def test_an_unknown_command_is_answered_with_the_nearest():
    assert "No such command 'trian'. Did you mean 'train'?" in error_line("trian")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        *((f"{name}|", "RUN") for name in ("monitor", "eval", "rm", "trace")),
        *((f"{name}|", "RUN|SWEEP") for name in ("stop", "status")),
        ("play||-o|episode.gif", "RUN"),
        ("play|a|-o|", "--output"),
        ("rm|a||b|--yes", "RUN"),
        ("train|", "CONFIG"),
        ("edit|a|--rename|", "--rename"),
        ("tinyphysics|eval|--controller=", "--controller"),
        ("train|cart_pole_ppo|--set|", "--set"),
        ("train|--resume|", "--resume"),
        ("runs|--host|", "--host"),
    ],
)
def test_an_empty_argument_is_refused_by_its_name(arguments, what, finished_run):
    """A script gives one where a variable is not set: it must not mean the latest run."""
    with pytest.raises(UsageError, match=f"^{re.escape(what)} is empty$"):
        cli(arguments.split("|"), standalone_mode=False)


def test_names_that_are_no_text_are_valid_json(capsys):
    print_json({"\udcff": ["run \ud800", "é", "\N{GRINNING FACE}"]})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {"?": ["run ?", "é", "\N{GRINNING FACE}"]}


def test_status_is_one_object_of_valid_json(finished_run):
    done = operant("status", "--latest", "--json")
    status = json.loads(done.stdout, parse_constant=pytest.fail)
    assert set(status) == STATUS_FIELDS | {"hint"}
    assert status["hint"] is None
    assert status["folder"] == str(finished_run.folder)
    assert (status["id"], status["state"], status["message"]) == (
        finished_run.id,
        "finished",
        "done",
    )
    assert (status["iteration"], status["env_steps"]) == (4, 40)
    assert status["metrics"] == {"loss": 0.5, "bad": None, "never": None}


def test_runs_is_a_list_of_the_same(finished_run):
    (row,), status = operant_json("runs"), operant_json("status")
    assert set(row) == STATUS_FIELDS
    assert {key: row[key] for key in STATUS_FIELDS - {"age_s"}} == {
        key: status[key] for key in STATUS_FIELDS - {"age_s"}
    }
    assert finished_run.id in operant("runs").stdout


def test_monitor_once_and_json_print_what_status_prints_and_more(finished_run):
    report = operant("monitor", "--latest", "--once").stdout
    ageless = [line for line in operant("status").stdout.splitlines() if " ago" not in line]
    assert set(ageless) <= set(report.splitlines())
    assert "publishing: 2 publishes" in report
    assert operant("monitor", "latest", "--once").stdout.splitlines()[0] == finished_run.id


def test_stop_of_a_run_that_has_ended_prints_its_status(finished_run):
    assert "is not running: finished" in operant("stop", finished_run.id).stdout
    answer = operant_json("stop", finished_run.id)
    assert (answer["id"], answer["state"]) == (finished_run.id, "finished")


def test_without_runs_each_command_says_how_to_start_one():
    assert operant_json("runs") == []
    assert "operant train" in operant("runs").stdout
    asked = (
        ["status"],
        ["stop", "--latest"],
        ["eval"],
        ["eval", "x"],
        ["monitor", "--latest", "--once"],
    )
    for command in asked:
        assert "`operant train` starts one" in error_line(*command)


def test_unknown_and_ambiguous_runs_are_one_line(finished_run):
    newest, lock = create_run("test", {})
    lock.release()
    assert "no run is called 'nonsense'" in error_line("status", "nonsense")
    assert "matches 2 runs" in error_line("stop", "test")
    looked = operant("status", "test", "--json")
    assert json.loads(looked.stdout)["id"] == newest.id
    assert looked.stderr.startswith(f"operant: warning: 2 runs are called 'test': {newest.id}, ")
    assert "--latest" in error_line("status", finished_run.id, "--latest")


@pytest.mark.parametrize(
    ("arguments", "there"),
    [
        (["stop", "far:cart_pole"], "stop cart_pole"),
        (["stop", "far:a b"], "stop 'a b'"),
        (["eval", "far:x"], "eval x"),
        (["rm", "far:x"], "rm x"),
        (["play", "far:x", "-o", "a.gif"], "play x"),
        (["train", "--resume", "far:x"], "train --resume x"),
        (["monitor", "latest", "far:x"], "monitor x"),
    ],
)
@pytest.mark.usefixtures("finished_run")
def test_what_takes_runs_of_this_machine_says_where_to_call_it_for_others(arguments, there):
    with pytest.raises(OperantError) as error:
        cli(arguments, standalone_mode=False)
    told = str(error.value)
    assert told.endswith(f" is on another machine; call it there: `ssh far operant {there}`")


def test_an_unreadable_page_is_told_and_the_others_are_listed(finished_run, operant_pages):
    bad, lock = create_run("bad", {})
    (operant_pages / f"{bad.id}.page").write_text("foreign")
    lock.release()
    by_id = {status["id"]: status for status in operant_json("runs")}
    assert by_id[bad.id]["state"] == "crashed"
    assert "too short to be a page" in by_id[bad.id]["message"]
    assert by_id[finished_run.id]["state"] == "finished"


def test_eval_plays_greedy_episodes_of_the_newest_checkpoint():
    assert operant("train", "cart_pole_ppo_smoke", *SHORT).returncode == 0
    (run,) = list_runs()
    answer = operant_json("eval", run.id, "--episodes", "7")
    assert set(answer) == {
        "id", "num_episodes", "mean", "std", "success_rate", "metrics", "returns", "lengths",
    }  # fmt: skip
    assert (answer["id"], answer["num_episodes"]) == (run.id, 7)
    assert min(answer["returns"]) <= answer["mean"] <= max(answer["returns"])
    assert "over 7 greedy episodes" in operant("eval", run.id, "--episodes", "7").stdout
    assert "--episodes" in error_line("eval", run.id, "--episodes", "0")


@pytest.mark.parametrize(
    "arguments",
    [["runs"], ["monitor", "--latest", "--once"], ["record", "latest"]],
)
def test_what_does_not_train_never_imports_torch(finished_run, arguments):
    code = (
        "import sys\nfrom operant.cli import main\n"
        f"sys.argv = ['operant', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "heavy = {'torch', 'numba', 'pandas', 'gymnasium'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


BEFORE_ANY_RUN = "numpy", "textual", "pydantic", "operant.shared.runs.run_folder"


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--help"], BEFORE_ANY_RUN),
        (["train", "--help"], BEFORE_ANY_RUN),
        (["runs"], ("textual", "pydantic", "operant.monitor.remote.remote_list")),
    ],
)
def test_a_command_imports_only_what_it_needs(finished_run, arguments, unwanted):
    code = (
        f"import sys\nfrom operant.cli import main\nsys.argv = ['operant', *{arguments!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"found = set({unwanted!r}) & set(sys.modules)\n"
        "assert not found, found\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
