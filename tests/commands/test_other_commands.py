"""runs, status, stop, eval and monitor without a screen."""

from __future__ import annotations

import json

import pytest
from command_line import SHORT, error_line, operant, operant_json, python

from operant.cli import cli
from operant.commands.helpers.output import print_json
from operant.shared.errors import OperantError, UsageError
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

STATUS_FIELDS = {
    "run", "state", "age_s", "iteration", "env_steps", "env_steps_per_s", "progress_fraction",
    "eta_s", "metrics", "message", "phase", "phase_s", "phase_done", "phase_total", "phase_unit",
    "phase_left_s",
    "name", "note", "tags", "archived",
}  # fmt: skip


@pytest.fixture
def finished_run():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"loss": 0.5, "bad": float("inf")}, 3, 30)
    session.metrics.publish({"never": float("nan")}, 4, 40)
    session.close("finished", 0, "done")
    return run


@pytest.mark.parametrize("arguments", [(), ("bench",), ("tinyphysics",)])
def test_a_command_that_lacks_its_own_command_prints_its_help(arguments):
    done = operant(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == operant(*arguments, "--help").stdout


def test_an_unknown_command_is_answered_with_the_nearest():
    assert "No such command 'trian'. Did you mean 'train'?" in error_line("trian")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        *((f"{name}|", "RUN") for name in ("monitor", "eval", "stop", "rm", "status", "trace")),
        ("play||--to|episode.gif", "RUN"),
        ("rm|a||b|--yes", "RUN"),
        ("train|", "CONFIG"),
        ("sweep|status|", "NAME"),
        ("rename|a|", "NAME"),
        ("train|cart_pole_ppo|--set|", "--set"),
        ("train|--resume|", "--resume"),
        ("runs|--host|", "--host"),
    ],
)
def test_an_empty_argument_is_refused_by_its_name(arguments, what, finished_run):
    """A script gives one where a variable is not set: it must not mean the latest run."""
    with pytest.raises(UsageError, match=f"^{what} is empty$"):
        cli(arguments.split("|"), standalone_mode=False)


def test_names_that_are_no_text_are_valid_json(capsys):
    print_json({"\udcff": ["run \ud800", "é", "\N{GRINNING FACE}"]})
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == {"?": ["run ?", "é", "\N{GRINNING FACE}"]}


def test_status_is_one_object_of_valid_json(finished_run):
    done = operant("status", "--latest", "--json")
    status = json.loads(done.stdout, parse_constant=pytest.fail)
    assert set(status) == STATUS_FIELDS | {"folder", "hint"}
    assert status["hint"] is None
    assert status["folder"] == str(finished_run.folder)
    assert (status["run"], status["state"], status["message"]) == (
        finished_run.id,
        "finished",
        "done",
    )
    assert (status["iteration"], status["env_steps"]) == (4, 40)
    assert status["metrics"] == {"loss": 0.5, "bad": None, "never": None}


def test_runs_is_a_list_of_the_same_without_metrics(finished_run):
    (status,) = operant_json("runs")
    assert set(status) == STATUS_FIELDS - {"metrics"} | {"return", "device", "machine"}
    assert finished_run.id in operant("runs").stdout


def test_monitor_once_and_json_print_what_status_prints_and_more(finished_run):
    report = operant("monitor", "--latest", "--once").stdout
    ageless = [line for line in operant("status").stdout.splitlines() if " ago" not in line]
    assert set(ageless) <= set(report.splitlines())
    assert "publishing: 2 publishes" in report
    assert operant_json("monitor", "--latest")["run"] == finished_run.id


def test_stop_of_a_run_that_has_ended_prints_its_status(finished_run):
    assert "is not running: finished" in operant("stop", finished_run.id).stdout
    answer = operant_json("stop", finished_run.id)
    assert (answer["run"], answer["state"]) == (finished_run.id, "finished")


def test_without_runs_each_command_says_how_to_start_one():
    assert operant_json("runs") == []
    assert "operant train" in operant("runs").stdout
    asked = (["status"], ["stop"], ["eval"], ["eval", "x"], ["monitor", "--latest", "--once"])
    for command in asked:
        assert "`operant train` starts one" in error_line(*command)


def test_unknown_and_ambiguous_runs_are_one_line(finished_run):
    newest, lock = create_run("test", {})
    lock.release()
    assert "no run is called 'nonsense'" in error_line("status", "nonsense")
    assert "matches 2 runs" in error_line("stop", "test")
    looked = operant("status", "test", "--json")
    assert json.loads(looked.stdout)["run"] == newest.id
    assert looked.stderr.startswith(f"operant: warning: 2 runs are called 'test': {newest.id}, ")
    assert "--latest" in error_line("status", finished_run.id, "--latest")


@pytest.mark.parametrize(
    ("arguments", "there"),
    [
        (["stop", "far:cart_pole"], "stop cart_pole"),
        (["stop", "far:a b"], "stop 'a b'"),
        (["eval", "far:x"], "eval x"),
        (["rm", "far:x"], "rm x"),
        (["play", "far:x", "--to", "a.gif"], "play x"),
        (["train", "--resume", "far:x"], "train --resume x"),
        (["snapshot", "--to", "a.svg", "--beside", "far:x"], "snapshot --beside x"),
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
    by_id = {status["run"]: status for status in operant_json("runs")}
    assert by_id[bad.id]["state"] == "crashed"
    assert "too short to be a page" in by_id[bad.id]["message"]
    assert by_id[finished_run.id]["state"] == "finished"


def test_eval_plays_greedy_episodes_of_the_newest_checkpoint():
    assert operant("train", "cart_pole_ppo_smoke", *SHORT).returncode == 0
    (run,) = list_runs()
    answer = operant_json("eval", run.id, "--episodes", "7")
    assert set(answer) == {
        "run", "episodes", "mean_return", "std_return", "min_return", "max_return",
    }  # fmt: skip
    assert (answer["run"], answer["episodes"]) == (run.id, 7)
    assert answer["min_return"] <= answer["mean_return"] <= answer["max_return"]
    assert "over 7 greedy episodes" in operant("eval", run.id, "--episodes", "7").stdout
    assert "--episodes" in error_line("eval", run.id, "--episodes", "0")


@pytest.mark.parametrize(
    "arguments",
    [["runs"], ["monitor", "--latest", "--once"], ["record", "--latest"]],
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
