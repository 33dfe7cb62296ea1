"""`operant export`: what pandas and TensorBoard read back is the whole history."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from command_line import ENDLESS, error_line, operant
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from operant.monitor.export import export
from operant.shared.errors import UsageError
from operant.shared.run_folder import create_run
from operant.shared.session import RunSession

NUM_PUBLISHES = 3000


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Finished after 3000 publishes, every second of which wrote `b` as well."""
    monkeypatch.chdir(tmp_path)
    run, lock = create_run("test", {}, rank=0)
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    for number in range(1, NUM_PUBLISHES + 1):
        values = {"a": number} if number % 2 else {"a": number, "b": -number}
        session.metrics.publish(values, number, 10 * number)
    session.close("finished", 0)
    return run


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_a_table_holds_the_whole_run_with_means_of_its_older_part(run, to, tmp_path):
    done = operant("export", run.id, "--to", to, "--spread")
    path = tmp_path / f"{run.id}.{to}"
    table = pd.read_csv(path, parse_dates=["time"]) if to == "csv" else pd.read_parquet(path)
    assert done.stdout == f"{run.id}.{to}: {len(table)} rows\n"
    assert table["publishes"].sum() == NUM_PUBLISHES  # none is missing, none is there twice
    assert table["publish"].iloc[-1] == NUM_PUBLISHES
    assert str(table["time"].dt.tz) == "UTC"
    assert table["time"].is_monotonic_increasing
    single, folded = table[table["publishes"] == 1], table[table["publishes"] == 8]
    assert (single["a"] == single["publish"]).all()
    assert (folded["a"] == folded["publish"] - 3.5).all()
    assert (folded["a.min"] == folded["publish"] - 7).all()
    assert (folded["a.max"] == folded["publish"]).all()
    assert (single["b"].isna() == (single["publish"] % 2 == 1)).all()
    assert (table["env_steps"] == 10 * table["publish"]).all()


def test_tensorboard_gets_the_whole_run_once(run, tmp_path):
    operant("export", run.id, "--to", "tensorboard", "--output", "out")
    events = EventAccumulator(str(tmp_path / "out"), size_guidance={"scalars": 0}).Reload()
    scalars = events.Scalars("a")
    assert scalars[-1].step == 10 * NUM_PUBLISHES
    assert [event.step for event in scalars] == sorted({event.step for event in scalars})
    assert "out is not empty" in error_line(
        "export", run.id, "--to", "tensorboard", "--output", "out"
    )


def test_what_does_not_apply_is_empty(tmp_path):
    run, lock = create_run("test", {}, rank=0)
    session = RunSession(run, lock, publish_interval_s=1, recorder=None)
    session.metrics.publish({"publish": math.inf, "x\ny": 1.0})
    export(run, "csv", tmp_path / "a.csv")  # while it runs
    (row,) = pd.read_csv(tmp_path / "a.csv").to_dict("records")
    assert math.isnan(row["iteration"])
    assert math.isnan(row["env_steps"])
    assert (row["publish"], row["metrics/publish"], row["x y"]) == (1, math.inf, 1.0)
    session.close("finished", 0)


def test_running_and_crashed_runs_are_exported_alike(start_training, tmp_path):
    process, run = start_training("cart_pole_ppo_smoke", *ENDLESS)
    assert operant("export", run.id, "--to", "csv", "--output", f"{tmp_path}/1.csv").returncode == 0
    process.kill()
    process.wait()
    assert operant("export", run.id, "--to", "csv", "--output", f"{tmp_path}/2.csv").returncode == 0
    running, crashed = (pd.read_csv(tmp_path / f"{name}.csv") for name in (1, 2))
    assert len(running) >= 1
    assert len(crashed) >= len(running)
    assert crashed["loss/value"].notna().any()


def test_wrong_input_is_one_line(run):
    assert "'csv', 'parquet', 'tensorboard'" in error_line("export", run.id, "--to", "onnx")
    assert "--to" in error_line("export", run.id)
    assert "no run is called" in error_line("export", "nonsense", "--to", "csv")
    where = ("--output", "no/such/folder.csv")
    assert "cannot write no/such" in error_line("export", run.id, "--to", "csv", *where, code=1)
    assert "has no page" in error_line("export", run.id, "--to", "csv", "--rank", "7", code=1)
    assert "--spread" in error_line("export", run.id, "--to", "tensorboard", "--spread")


def test_a_missing_package_is_named_with_the_extra_that_brings_it(run, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install operant-rl\[parquet\]"):
        export(run, "parquet", tmp_path / "a.parquet")
    assert not list(tmp_path.glob("*.parquet"))
