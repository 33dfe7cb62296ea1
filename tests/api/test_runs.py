"""`operant.Run`, `runs` and `show`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_line import python

import operant
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

ROOT = Path(__file__).parents[2]
ESCAPES = "\x1b[31m\x07\n\u202e"


def logged(*rows):
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    for number, row in enumerate(rows):
        session.metrics.publish(row, number + 1, 100 * (number + 1))
    session.close("finished", 0)
    return operant.runs()[0]


def test_history_is_a_frame_of_every_row_with_nan_where_a_row_has_no_value():
    run = logged({"a": 1.0}, {"a": 2.0, "b": 5.0}, {"b": np.inf})
    frame = run.history()
    assert frame["env_steps"].tolist() == [100, 200, 300]
    assert frame["iteration"].dtype == np.int64
    assert frame["a"].tolist()[:2] == [1.0, 2.0]
    assert np.isnan(frame["a"][2])
    assert np.isnan(frame["b"][0])
    assert frame["b"].tolist()[1:] == [5.0, np.inf]
    assert str(frame["time"].dt.tz) == "UTC"
    assert run.history().equals(frame)
    assert operant.Run().history().equals(frame)


def test_runs_are_listed_newest_first_without_archived_ones():
    first, second = logged({"a": 1.0}), logged({"a": 1.0})
    assert operant.runs() == [second, first]
    first.edit(archived=True)
    assert operant.runs() == [second]
    assert operant.runs(archived=True) == [first]
    assert operant.runs("archived:yes,no a<2") == [second, first]
    assert operant.runs("state:failed") == []
    with pytest.raises(operant.UsageError, match="filter = 'loss>1': no run has 'loss'"):
        operant.runs("loss>1")
    with pytest.raises(operant.UsageError, match="write archived:yes in the filter"):
        operant.runs("test", archived=True)


def test_a_run_has_its_newest_numbers_and_what_people_say_of_it():
    run = logged({"a": 1.0}, {"a": 2.0})
    assert operant.Run("latest") == operant.Run() == run
    assert (run.state, run.env_steps, run.iteration) == ("finished", 200, 2)
    assert (run.metrics, run.config, run.events()) == ({"a": 2.0}, {}, [])
    page = run.page()
    assert page.read().metrics == {"a": 2.0}
    page.detach()
    assert run.name == run.id
    run.edit(name="the  first", note="good", tags=["baseline"])
    assert operant.Run("the first") == run
    run.edit(note="bad")
    (found,) = operant.runs("tag:baseline note:bad")
    assert found.name == "the first"
    with pytest.raises(operant.UsageError, match="'two words' is not a valid tag"):
        run.edit(tags=["two words"])
    other = logged({"a": 1.0})
    with pytest.raises(operant.UsageError, match="another run is called 'the first'"):
        other.edit(name="the first")


def test_a_handle_shows_how_its_run_is_doing():
    run = logged({"<script>": 1.0})
    assert repr(run).startswith(f"<operant.Run {run.id}: finished")
    assert "&lt;script&gt;" in run._repr_html_()
    assert "<script>" not in run._repr_html_()


@pytest.mark.parametrize("timeout_s", ["a", -1, True])
def test_a_time_to_wait_that_is_no_number_is_one_line(timeout_s):
    run = logged({"loss": 0.5})
    with pytest.raises(operant.UsageError, match=r"timeout_s = .*: expected a number, 0 or more"):
        run.wait(timeout_s)


def test_the_curve_of_a_notebook_rises_with_the_returns_and_ends_at_the_newest():
    run = logged({"episode/return": 1.0}, {"episode/return": 3.0})
    assert 'points="18.0,142.0 502.0,18.0"' in run._repr_html_()
    constant = logged(*[{"episode/return": 2.0}] * 401)  # two in a point, and one in the last
    (points,) = re.findall(r'points="([^"]*)"', constant._repr_html_())
    places = [point.split(",") for point in points.split()]
    assert len(places) == 201
    assert places[-1] == ["502.0", "142.0"]
    assert {y for _, y in places} == {"142.0"}


def test_a_status_is_short_to_print():
    run = logged({f"metric/{number}": 1.0 for number in range(40)})
    assert "metric/3" in run.status().metrics
    said = repr(run.status())
    assert said.startswith(f"RunStatus(run={run.id}, state=finished, age_s=")
    assert said.endswith("metrics=<40 metrics>)")
    assert len(said) < 200


def test_a_terminal_obeys_nothing_that_a_page_says():
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1)
    session.metrics.publish({"a": 1.0}, 1, 100)
    session.close("failed", 1, f"it says {ESCAPES}")
    failed = operant.runs()[0]
    assert failed.status().message.isprintable()
    assert "it says" in repr(failed)
    assert repr(failed).isprintable()


def test_show_prints_a_line_where_there_is_neither_notebook_nor_terminal(capsys):
    run = logged({"a": 1.0})
    operant.show(run)
    assert capsys.readouterr().out == f"{run!r}\n"


def test_importing_operant_imports_neither_torch_nor_numpy():
    code = (
        "import operant, sys; operant.train; dir(operant);"
        "print({'torch', 'numba'} & sys.modules.keys())"
    )
    assert python("-c", code).stdout.strip() == "set()"


def test_a_script_outside_passes_a_strict_type_checker(tmp_path):
    """With what the wheel has: the package's marker, and types of all that is public."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "py.typed" in settings["tool"]["setuptools"]["package-data"]["operant"]
    assert (ROOT / "py.typed").exists()
    (tmp_path / "operant").symlink_to(ROOT)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    check = ("--strict", "--config-file=", "--follow-imports=silent", str(script))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *check],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1  # two things in it are wrong, on purpose
    assert done.stdout.count("error:") == 2, done.stdout
    assert '"LiveRun" has no attribute "stopp"' in done.stdout
    assert 'Module has no attribute "trian"' in done.stdout


SCRIPT = """
import operant


class Stops(operant.Callback):
    def on_evaluation(self, run: operant.LiveRun) -> None:
        if run.metrics["evaluation/return"] > 400:
            run.stop("enough")
            run.stopp()


run = operant.train("cart_pole", total_env_steps=1000, callbacks=[Stops()], progress=True)
policy = operant.load(run, checkpoint="best")
print(policy.act([0.0, 0.0, 0.0, 0.0]), run.status().state, run.history()["env_steps"].max())
operant.trian("cart_pole")
print(operant.evaluate(policy, num_episodes=3).mean, [each.id for each in operant.runs()])
"""
