"""Rows reach TensorBoard, Prometheus and Weights & Biases as their own tools read them."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import urllib.request

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from waiting import wait_for

from operant.monitor.recorder import sinks
from operant.monitor.recorder.prometheus_sink import PrometheusSink
from operant.monitor.recorder.rows import Row
from operant.monitor.recorder.sinks import SinkThread, open_sinks
from operant.monitor.recorder.tensorboard_sink import TensorBoardSink
from operant.shared.history import NEVER_WRITTEN
from operant.shared.recorder_process import RecorderSettings
from operant.shared.run_folder import create_run


def row(publish: int, **metrics: float) -> Row:
    return Row(publish, 1e9 + publish, float(publish), publish, 10 * publish, metrics)


def scalars(folder, tag) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder)).Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]


def test_tensorboard_reads_values_by_env_steps(tmp_path):
    sink = TensorBoardSink(tmp_path)
    sink.write(0, [row(1, loss=0.5, never=NEVER_WRITTEN), row(2, loss=math.inf)])
    sink.write(1, [row(1, loss=7.0)])
    sink.close(is_success=True)
    assert scalars(tmp_path, "loss") == [(10, 0.5), (20, math.inf)]
    assert scalars(tmp_path / "rank-1", "loss") == [(10, 7.0)]
    assert EventAccumulator(str(tmp_path)).Reload().Tags()["scalars"] == ["loss"]


def test_tensorboard_forgets_what_a_resumed_run_does_again(tmp_path):
    sink = TensorBoardSink(tmp_path)
    sink.write(0, [row(number, loss=1.0) for number in (1, 2, 3, 4)])
    sink.write(0, [row(3, loss=2.0)])
    sink.close(is_success=True)
    assert scalars(tmp_path, "loss") == [(10, 1.0), (20, 1.0), (30, 2.0)]


@pytest.fixture
def prometheus():
    sink = PrometheusSink("run-1", port=0, address="127.0.0.1")
    yield sink
    sink.close(is_success=True)


def fetched(sink: PrometheusSink) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{sink.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return sorted(line for line in lines if not line.startswith("#"))


def test_prometheus_fetches_the_newest_value_of_each_rank(prometheus):
    assert fetched(prometheus) == ['operant_up{run="run-1"} 1.0']
    prometheus.write(0, [row(1, **{"loss/policy": 0.5}), row(2, **{"loss/policy": 0.25})])
    prometheus.write(1, [row(1, **{"loss/policy": 7.0, "never": NEVER_WRITTEN})])
    lines = fetched(prometheus)
    assert 'operant_loss_policy{rank="0",run="run-1"} 0.25' in lines
    assert 'operant_loss_policy{rank="1",run="run-1"} 7.0' in lines
    assert 'operant_env_steps{rank="0",run="run-1"} 20.0' in lines
    assert not any("never" in line for line in lines)


def test_prometheus_names_that_fall_together_are_given_once(prometheus):
    prometheus.write(0, [row(1, **{"a/b": 1.0, "a.b": 2.0, "up": 3.0, "env steps": 4.0, "é": 5.0})])
    names = [line.split(" ")[0] for line in fetched(prometheus)]
    assert len(names) == len(set(names))
    assert 'operant_env_steps{rank="0",run="run-1"} 10.0' in fetched(prometheus)


def test_prometheus_listens_to_this_machine_alone_unless_told_otherwise():
    assert RecorderSettings().prometheus_address == "127.0.0.1"


def test_wandb_takes_rows_offline(tmp_path):
    run, lock = create_run("test", {"config": {"seed": 3}}, rank=0)
    lock.release()
    code = f"""
from pathlib import Path
from operant.monitor.recorder.rows import Row
from operant.monitor.recorder.wandb_sink import WandbSink
from operant.shared.run_folder import Run
sink = WandbSink(Run(Path({str(run.folder)!r})))
sink.write(0, [Row(1, 1e9, 1.0, 1, 10, {{"loss/policy": 0.5}})])
sink.write(1, [Row(1, 1e9, 1.0, 1, 10, {{"loss/policy": 0.75}})])
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
    assert b"rank1/loss/policy" in data


def test_a_missing_package_is_one_line_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    run, lock = create_run("test", {}, rank=0)
    lock.release()
    complaints = []
    assert open_sinks(run, RecorderSettings(to=("wandb",)), complaints.append) == []
    (complaint,) = complaints
    assert complaint == "wandb is not installed here; `pip install operant-rl[wandb]` brings it"


class BrokenSink:
    def write(self, rank, rows):
        raise RuntimeError("no\nmore")

    def close(self, is_success):
        raise AssertionError("it is closed already")


def test_a_sink_that_fails_is_told_once_and_left_alone():
    complaints = []
    thread = SinkThread("broken", BrokenSink, complaints.append)
    thread.write(0, [row(1, a=1.0)])
    wait_for(lambda: complaints)
    wait_for(lambda: not thread._thread.is_alive())
    thread.write(0, [row(2, a=1.0)])
    thread.close(is_success=True)
    assert complaints == ["broken: no more; the run is recorded without it"]


def test_a_sink_that_hangs_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(sinks, "QUEUE_ROWS", 3)
    monkeypatch.setattr(sinks, "CLOSE_PATIENCE_S", 0.0)
    complaints = []
    hung = wait_for  # opened for as long as the test's patience: longer than anyone waits here
    thread = SinkThread("hung", lambda: hung(lambda: False), complaints.append)
    for number in range(10):
        thread.write(0, [row(number, a=1.0)])
    thread.close(is_success=True)
    assert set(complaints) == {"hung takes no rows; some are lost there"}
