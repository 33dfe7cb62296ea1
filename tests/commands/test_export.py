"""`operant export`: what pandas and TensorBoard read back is every row."""

from __future__ import annotations

import csv
import math
import re

import pandas as pd
import pyarrow.parquet
import pytest
from command_line import error_line, operant, operant_json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from operant.monitor.export.writing import export
from operant.monitor.recorder.every_row import RowDrain
from operant.monitor.recorder.page_watch import PageWatch
from operant.shared.errors import UsageError
from operant.shared.install_command import install_command
from operant.shared.rows.row_file import RowFile
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession

pytestmark = pytest.mark.slow

NUM_PUBLISHES = 3000


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Finished after 3000 publishes, every second of which wrote `b` as well."""
    monkeypatch.chdir(tmp_path)
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    for number in range(1, NUM_PUBLISHES + 1):
        values = {"a": number} if number % 2 else {"a": number, "b": -number}
        session.metrics.publish(values, number, 10 * number)
    session.close("finished", 0)
    return run


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_table_holds_every_row(run, to, tmp_path):
    path = tmp_path / f"rows.{to}"
    done = operant("export", run.id, "-o", str(path))
    assert done.stdout == f"{path}: {NUM_PUBLISHES} rows\n", done.stderr
    table = pd.read_csv(path, parse_dates=["time"]) if to == "csv" else pd.read_parquet(path)
    assert table["publish"].tolist() == list(range(1, NUM_PUBLISHES + 1))
    assert str(table["time"].dt.tz) == "UTC"
    assert table["time"].is_monotonic_increasing
    assert (table["a"] == table["publish"]).all()
    assert (table["b"].isna() == (table["publish"] % 2 == 1)).all()
    assert (table["env_steps"] == 10 * table["publish"]).all()


def test_a_file_of_rows_that_is_damaged_leaves_the_pages_rows(run, tmp_path):
    run.rows_path.write_bytes(b"junk" * 1000)
    done = operant("export", run.id, "-o", "rows.csv")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "rows.sqlite" in line
    assert line.endswith("these are the rows that the page still has")
    assert pd.read_csv(tmp_path / "rows.csv")["publish"].tolist()[-1] == NUM_PUBLISHES


def logged(*rows, names=(), recorded=True):
    """A run of (step, values), taken to its file by a recorder's drain."""
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    for metric in names:
        session.metrics.describe(metric)
    for number, (step, values) in enumerate(rows, 1):
        session.metrics.publish(values, number, step)
    if recorded:
        take(run)
    session.close("finished", 0)
    return run


def take(run):
    watch, drain = PageWatch(run), RowDrain(run.rows_path)
    watch.look(is_alive=False)
    drain.begin(watch.page)
    drain.take()
    drain.close()
    watch.close()


def cells(path):
    """By row: everything but its times."""
    with path.open(newline="") as file:
        return [
            {name: cell for name, cell in row.items() if name not in ("time", "elapsed_s")}
            for row in csv.DictReader(file)
        ]


def test_each_row_has_its_own_step_and_nan_is_told_from_never(tmp_path):
    rows = [(7, {"a": math.nan, "publish": 0.5}), (-1, {"b": math.inf}), (3, {"a": 1e-300})]
    run = logged(*rows)
    export(run, "csv", tmp_path / "a.csv")
    head = [("1", "1", "7"), ("2", "2", ""), ("3", "3", "3")]
    metrics = [("nan", "0.5", ""), ("", "", "inf"), ("1e-300", "", "")]
    names = ("publish", "iteration", "env_steps", "a", "metrics/publish", "b")
    expected = [
        dict(zip(names, (*left, *right), strict=True))
        for left, right in zip(head, metrics, strict=True)
    ]
    assert cells(tmp_path / "a.csv") == expected
    export(run, "parquet", tmp_path / "a.parquet")
    columns = pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert str(columns["a"]) == "[nan, None, 1e-300]"
    assert columns["env_steps"] == [7, None, 3]


def test_what_no_recorder_has_taken_yet_comes_from_the_page_once(tmp_path):
    run, lock = create_run("test", {})
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    for number in range(1, 2001):
        session.metrics.publish({"a": number})
    take(run)
    for number in range(2001, 2011):
        session.metrics.publish({"a": number, "late": 1.0})
    assert export(run, "csv", tmp_path / "a.csv") == (2010, 0, "")
    table = pd.read_csv(tmp_path / "a.csv")
    assert table["a"].tolist() == list(range(1, 2011))
    assert table["late"].sum() == 10
    session.close("finished", 0)


def test_rows_that_were_overwritten_are_counted(tmp_path):
    values = {f"m{i}": 1.0 for i in range(200)}  # 1,672 bytes a row: 12 MiB hold 7,525
    run = logged(*((number, {**values, "m0": number}) for number in range(1, 8001)), recorded=False)
    done = export(run, "csv", tmp_path / "a.csv")
    table = pd.read_csv(tmp_path / "a.csv")
    assert 7500 < done.num_rows < 7550
    assert table["m0"].tolist() == list(range(8001 - done.num_rows, 8001))
    assert done.num_lost == 8000 - done.num_rows


def test_lost_rows_are_told_of_by_status_and_export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = logged((1, {"a": 1.0}))
    assert "lost_rows" not in operant_json("status", run.id)
    assert "overwritten" not in operant("status", run.id).stdout
    file = RowFile(run.rows_path)
    file.note("num_lost", 5)
    file.close()
    assert operant_json("status", run.id)["lost_rows"] == 5
    told = "5 rows were overwritten before a recorder could keep them"
    assert f"  {told}\n" in operant("status", run.id).stdout
    done = operant("export", run.id, "-o", "rows.csv")
    assert done.stderr == f"operant: warning: {told}\n"
    assert done.stdout == "rows.csv: 1 row\n"


def scalars_of(path, name):
    events = EventAccumulator(str(path), size_guidance={"scalars": 0}).Reload()
    return [(event.step, event.value) for event in events.Scalars(name)]


def test_tensorboard_keeps_rows_of_lower_steps(tmp_path):
    run = logged((5, {"a": 1.0}), (0, {"a": 2.0}), (-1, {"a": 3.0}))
    export(run, "tensorboard", tmp_path / "out")
    assert scalars_of(tmp_path / "out", "a") == [(5, 1.0), (0, 2.0), (3, 3.0)]


def test_tensorboard_gets_the_whole_run_once(run, tmp_path):
    operant("export", run.id, "-o", "tensorboard/")
    events = EventAccumulator(str(tmp_path / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    scalars = events.Scalars("a")
    assert scalars[-1].step == 10 * NUM_PUBLISHES
    assert [event.step for event in scalars] == sorted({event.step for event in scalars})
    assert "tensorboard is not empty" in error_line("export", run.id, "-o", "tensorboard")


def test_a_file_that_is_there_is_written_over_only_if_that_is_said(run, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("mine")
    arguments = ("export", run.id, "-o", str(path))
    assert f"{path} exists already; pass --yes to overwrite it" in error_line(*arguments)
    assert path.read_text() == "mine"
    assert operant(*arguments, "-y").returncode == 0
    assert path.read_text() != "mine"


def test_wrong_input_is_one_line(run):
    endings = "expected a name that ends in .csv, .parquet, .onnx or tensorboard"
    for name in ("a.xlsx", "csv", "out"):
        assert f"-o {name}: {endings}" in error_line("export", run.id, "-o", name)
    assert "--output" in error_line("export", run.id)
    assert "no run is called" in error_line("export", "nonsense", "-o", "a.csv")
    line = error_line("export", run.id, "-o", "no/such/folder.csv", code=1)
    assert "cannot write no/such" in line


def test_a_missing_package_is_named_with_the_extra_that_brings_it(run, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match=re.escape(install_command("parquet"))):
        export(run, "parquet", tmp_path / "a.parquet")
    assert not list(tmp_path.glob("*.parquet"))
