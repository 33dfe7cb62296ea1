"""Rows reach TensorBoard, Prometheus and Weights & Biases as their own tools read them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import tomllib
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from leftover_rows import take_leftover_rows
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from waiting import wait_for

from operant.monitor.recorder import sinks
from operant.monitor.recorder.every_row import RowDrain
from operant.monitor.recorder.prometheus_sink import PrometheusSink
from operant.monitor.recorder.rows import Row
from operant.monitor.recorder.sinks import SinkThread, open_sinks
from operant.monitor.recorder.tensorboard_sink import TensorBoardSink
from operant.shared import Metric
from operant.shared.install_command import install_command
from operant.shared.processes.lock import RunLock
from operant.shared.rows.row_batch import NEVER_WRITTEN, RowBatch
from operant.shared.runs.recorder_process import SINK_PACKAGES, RecorderSettings
from operant.shared.runs.run_folder import create_run
from operant.shared.runs.session import RunSession
from operant.trainer.config.tables import RecorderConfig, Sink


def row(publish: int, **metrics: float) -> Row:
    return Row(publish, 1e9 + publish, float(publish), publish, 10 * publish, metrics)


def batch(publishes: list[int], **series: list[float]) -> tuple[RowBatch, list[Metric]]:
    heads = [[n, (10**9 + n) * 10**9, n * 10**9, n, 10 * n, 1] for n in publishes]
    rows = RowBatch(np.array(heads).T, np.arange(len(series)), np.array([*series.values()]))
    return rows, [Metric(name) for name in series]


NEWEST = row(1)  # sinks that take every row look into the file


def scalars(folder, tag) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder)).Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]


def test_tensorboard_reads_values_by_env_steps(tmp_path):
    sink = TensorBoardSink(tmp_path)
    sink.take(*batch([1, 2], loss=[0.5, math.inf], never=[NEVER_WRITTEN] * 2))
    sink.close(is_success=True)
    assert scalars(tmp_path, "loss") == [(10, 0.5), (20, math.inf)]
    assert EventAccumulator(str(tmp_path)).Reload().Tags()["scalars"] == ["loss"]


def test_tensorboard_files_are_not_written_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tensorboard").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link, which is not followed"):
        TensorBoardSink(tmp_path / "tensorboard").take(*batch([1], loss=[7.0]))
    assert not list((tmp_path / "elsewhere").iterdir())


class Run:
    """A run of this process whose rows are taken to its file when told to."""

    def __init__(self, **options) -> None:
        self.run, self._lock = create_run("test", {})
        self.begin(self._lock, **options)

    def begin(self, lock, **options) -> None:
        self.session = RunSession(self.run, lock, publish_interval_s=60.0, recorder=None, **options)

    def publish(self, first: int, last: int) -> None:
        for number in range(first, last + 1):
            self.session.metrics.publish({"loss": number / 2}, number, 10 * number)
        take_leftover_rows(self.run)


@pytest.fixture
def recorded():
    recorded = Run()
    yield recorded
    recorded.session.close("finished", 0)


def test_tensorboard_gets_every_row_with_its_own_step_from_the_file(recorded, tmp_path):
    complaints = []
    thread = SinkThread("tensorboard", lambda: TensorBoardSink(tmp_path), complaints.append)
    path = recorded.run.rows_path
    for first, last in ((1, 1), (2, 1000), (1001, 2500)):
        recorded.publish(first, last)
        thread.rows_came(path, NEWEST)
    thread.close(is_success=True)
    assert complaints == []
    events = EventAccumulator(str(tmp_path), {"scalars": 0}).Reload()
    steps = [(event.step, event.value) for event in events.Scalars("loss")]
    assert steps == [(10 * number, number / 2) for number in range(1, 2501)]
    assert thread.notes() == {"sent to tensorboard": "0 2500"}


def test_a_sink_goes_on_where_a_former_recorder_noted_that_it_was(recorded, tmp_path):
    recorded.publish(1, 30)
    drain = RowDrain(recorded.run.rows_path)
    drain.note({"sent to tensorboard": "0 20"})
    drain.close()
    thread = SinkThread("tensorboard", lambda: TensorBoardSink(tmp_path), print)
    thread.rows_came(recorded.run.rows_path, NEWEST)
    thread.close(is_success=True)
    assert [step for step, _ in scalars(tmp_path, "loss")] == list(range(210, 301, 10))


def test_rows_that_a_resumed_run_does_again_replace_those_in_tensorboard(recorded, tmp_path):
    thread = SinkThread("tensorboard", lambda: TensorBoardSink(tmp_path), print)
    path = recorded.run.rows_path
    recorded.publish(1, 30)
    thread.rows_came(path, NEWEST)
    wait_for(lambda: thread.notes() == {"sent to tensorboard": "0 30"})
    recorded.session.close("stopped", 0)
    recorded.begin(RunLock(recorded.run.lock_path), continue_from=20)
    recorded.publish(21, 25)
    thread.rows_came(path, NEWEST)
    thread.close(is_success=True)
    assert [step for step, _ in scalars(tmp_path, "loss")] == list(range(10, 251, 10))


def test_tensorboard_draws_a_metric_over_its_step_metric_while_it_is_recorded(recorded, tmp_path):
    recorded.session.metrics.register(Metric("eval", step_metric="epoch"))
    for number in range(1, 4):
        recorded.session.metrics.publish({"eval": 1.0, "epoch": number}, number, 500)
    take_leftover_rows(recorded.run)
    thread = SinkThread("tensorboard", lambda: TensorBoardSink(tmp_path), print)
    thread.rows_came(recorded.run.rows_path, NEWEST)
    thread.close(is_success=True)
    assert [step for step, _ in scalars(tmp_path, "eval")] == [1, 2, 3]


@pytest.fixture
def prometheus():
    sink = PrometheusSink("run-1", port=0, address="127.0.0.1")
    yield sink
    sink.close(is_success=True)


def fetched(sink: PrometheusSink) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{sink.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sorted(line for line in lines if not line.startswith("#"))


def test_prometheus_fetches_the_newest_values(prometheus):
    assert fetched(prometheus) == ['operant_up{run="run-1"} 1.0']
    prometheus.take_newest(row(1, **{"loss/policy": 0.5}))
    prometheus.take_newest(row(2, **{"loss/policy": 0.25, "never": NEVER_WRITTEN}))
    lines = fetched(prometheus)
    assert 'operant_loss_policy{metric="loss/policy",run="run-1"} 0.25' in lines
    assert 'operant_env_steps{run="run-1"} 20.0' in lines
    assert not any("never" in line for line in lines)


def test_prometheus_names_that_fall_together_are_told_apart_by_a_label(prometheus):
    values = {"a/b": 1.0, "a.b": 2.0, "up": 3.0, "env steps": 4.0, "é": 5.0, "ü": 6.0}
    prometheus.take_newest(row(1, **values))
    assert [line for line in fetched(prometheus) if "metric=" in line] == [
        'operant__{metric="é",run="run-1"} 5.0',
        'operant__{metric="ü",run="run-1"} 6.0',
        'operant_a_b{metric="a.b",run="run-1"} 2.0',
        'operant_a_b{metric="a/b",run="run-1"} 1.0',
    ]
    assert 'operant_env_steps{run="run-1"} 10.0' in fetched(prometheus)


def test_wandb_takes_rows_offline(tmp_path):
    run, lock = create_run("test", {"config": {"seed": 3}})
    lock.release()
    code = f"""
from pathlib import Path
import numpy as np
from operant.shared import Metric
from operant.shared.rows.row_batch import RowBatch
from operant.monitor.recorder.wandb_sink import WandbSink
from operant.shared.runs.run_folder import Run
sink = WandbSink(Run(Path({str(run.folder)!r})))
heads = np.array([[1, 10**18, 10**9, 1, 10, 1]]).T
batch = RowBatch(heads, np.array([0]), np.array([[0.5]]))
sink.take(batch, [Metric("loss/policy")])
sink.close(True)
"""
    # Away from whatever account this user has.
    env = {**os.environ, "WANDB_MODE": "offline", "HOME": str(tmp_path)}
    env |= {f"WANDB_{name}_DIR": str(tmp_path) for name in ("CONFIG", "CACHE", "DATA")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    (stored,) = run.folder.glob("wandb/offline-run-*/*.wandb")
    data = stored.read_bytes()
    assert run.id.encode() in data
    assert b"loss/policy" in data


def test_a_missing_package_is_one_line_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    run, lock = create_run("test", {})
    lock.release()
    complaints = []
    assert open_sinks(run, RecorderSettings(to=("wandb",)), complaints.append) == []
    (complaint,) = complaints
    assert complaint == f"wandb is not installed here; `{install_command('wandb')}` brings it"


class BrokenSink:
    def take_newest(self, row):
        raise RuntimeError("no\nmore")

    def close(self, is_success):
        raise AssertionError("it is closed already")


def test_a_sink_that_fails_is_told_once_and_left_alone(tmp_path):
    complaints = []
    thread = SinkThread("broken", BrokenSink, complaints.append)
    thread.rows_came(tmp_path, row(1, a=1.0))
    wait_for(lambda: complaints)
    wait_for(lambda: not thread._thread.is_alive())
    thread.rows_came(tmp_path, row(2, a=1.0))
    thread.close(is_success=True)
    assert complaints == ["broken: no more; the run is recorded without it"]


class SlowSink:
    """Takes what it is given once it may."""

    def __init__(self) -> None:
        self.may_go, self.taken, self.is_closed = threading.Event(), [], False

    def take_newest(self, row) -> None:
        self.may_go.wait(60)
        self.taken.append(row.publish)

    def close(self, is_success: bool) -> None:
        self.is_closed = True


def test_of_what_only_the_newest_counts_nothing_waits_for_a_slow_sink(tmp_path):
    complaints, sink = [], SlowSink()
    thread = SinkThread("slow", lambda: sink, complaints.append)
    for number in range(1, 2000):
        thread.rows_came(tmp_path, row(number, a=1.0))
    sink.may_go.set()
    thread.close(is_success=True)
    assert sink.taken[-1] == 1999
    assert len(sink.taken) <= 2
    assert sink.is_closed
    assert complaints == []


def test_a_sink_that_hangs_holds_up_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "CLOSE_PATIENCE_S", 0.0)
    complaints = []
    hung = wait_for  # opened for as long as the test's patience: longer than anyone waits here
    thread = SinkThread("hung", lambda: hung(lambda: False), complaints.append)
    for number in range(10):
        thread.rows_came(tmp_path, row(number, a=1.0))
    thread.close(is_success=True)
    assert complaints == ["hung is slow: `operant record --to hung` sends it the rest"]


def test_whatever_lists_sinks_lists_all_of_them():
    root = Path(__file__).parents[3]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    document = (root / "docs" / "runs.md").read_text().partition("### Sinks")[2]
    assert set(get_args(Sink)) == set(SINK_PACKAGES)
    for name in SINK_PACKAGES:
        assert find_spec(f"operant.monitor.recorder.{name}_sink"), name
        assert name in project["optional-dependencies"]
        assert f"\n| `{name}` | " in document
        assert name in str(RecorderConfig.model_fields["to"].description)
