"""Views of made-up runs, the same every time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from operant.monitor.runs.list.runs_poller import RunRow, RunsView
from operant.monitor.runs.machine.machine import DiskSample, GpuSample, MachineSample
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import Event, History, Metric
from operant.shared.rows.row_batch import NEVER_WRITTEN
from operant.shared.runs.run_folder import Run
from operant.shared.runs.session import RunSession
from operant.shared.runs.status import RunState, RunStatus

RUN_ID = "20261121-142530-cart_pole-ppo-k3f9"
NOON_NS = 1_795_262_400 * 10**9  # 2026-11-21 12:00 UTC

SCHEMA = (
    Metric("episode/return", better="up"),
    Metric("loss/policy"),
    Metric("loss/value", better="down"),
    Metric("policy/entropy", unit="nats"),
    Metric("policy/approx_kl"),
    Metric("evaluation/return", better="up"),
    Metric("speed/env_steps_per_s", unit="steps/s", better="up"),
    Metric("progress/fraction"),
    Metric("progress/eta_s", unit="s"),
    Metric("time/collect_s", unit="s", kind="timer"),
    Metric("time/learn_s", unit="s", kind="timer"),
    Metric("time/evaluate_s", unit="s", kind="timer"),
)
EVENTS = (
    Event(1, NOON_NS, "info", "training starts: cart_pole"),
    Event(2, NOON_NS + 60 * 10**9, "info", "checkpoint saved: step-1000.pt"),
    Event(3, NOON_NS + 75 * 10**9, "warning", "the disk is nearly full"),
)


def make_history(columns: dict[str, np.ndarray], env_steps: np.ndarray | None = None) -> History:
    """A history with a row for each value, ten of them a second."""
    (num_rows,) = {len(column) for column in columns.values()}
    numbers = np.arange(1, num_rows + 1)
    steps = np.full(num_rows, -1) if env_steps is None else env_steps
    spans = np.ones(num_rows, np.int64)
    heads = np.stack([numbers, NOON_NS + numbers, numbers * 10**8, numbers, steps, spans])
    return History(list(columns), heads, [np.stack(list(columns.values()))[None]])


def training_curves(num_rows: int) -> dict[str, np.ndarray]:
    """Curves that resemble a run of PPO, without random numbers."""
    done = np.linspace(0.0, 0.6, num_rows)
    rows = np.arange(num_rows)
    ripple = 0.7 * np.sin(rows * 0.13) + 0.3 * np.sin(rows * 1.7)
    evaluation = np.full(num_rows, NEVER_WRITTEN)
    evaluation[19::20] = 490 / (1 + np.exp(-12 * (done[19::20] - 0.3))) + 10
    return {
        "episode/return": 490 / (1 + np.exp(-12 * (done - 0.3))) + 5 * ripple + 10,
        "loss/policy": -0.02 * np.exp(-2 * done) + 0.002 * ripple,
        "loss/value": 60 * np.exp(-4 * done) + 2 + ripple,
        "policy/entropy": 0.69 * np.exp(-1.2 * done),
        "policy/approx_kl": 0.008 + 0.003 * ripple,
        "evaluation/return": evaluation,
        "speed/env_steps_per_s": 1.23e6 + 2e4 * ripple,
        "progress/fraction": done,
        "progress/eta_s": 200 * (1 - done),
        "time/collect_s": np.full(num_rows, 0.031),
        "time/learn_s": np.full(num_rows, 0.018),
        "time/evaluate_s": np.where(np.isnan(evaluation), 0.0, 0.05),
    }


def make_view(
    state: RunState = "running", message: str = "", age_s: float = 0.2, num_rows: int = 200
) -> RunView:
    """A run of PPO after `num_rows` iterations of 2048 env steps."""
    curves = training_curves(num_rows)
    written = {name: column[~np.isnan(column)] for name, column in curves.items()}
    newest = {
        name: float(column[-1]) if len(column) else np.nan for name, column in written.items()
    }
    status = RunStatus(
        run=RUN_ID,
        state=state,
        age_s=age_s,
        iteration=num_rows,
        env_steps=2048 * num_rows,
        env_steps_per_s=newest["speed/env_steps_per_s"],
        progress_fraction=newest["progress/fraction"],
        eta_s=newest["progress/eta_s"] if state in ("running", "stalled") else None,
        metrics=newest,
        message=message,
    )
    history = make_history(curves, 2048 * np.arange(1, num_rows + 1))
    return RunView(status, history, SCHEMA, EVENTS, publish=num_rows)


def silent_view(message: str = "", is_page_expected: bool = False) -> RunView:
    """A run that is alive and has published nothing."""
    status = RunStatus(RUN_ID, "running", message=message)
    return RunView(status, is_page_expected=is_page_expected)


def make_row(name: str, state: RunState, **fields: object) -> RunRow:
    """A row of the list of runs, by default half way through."""
    known: dict[str, object] = {
        "age_s": 3.0,
        "env_steps": 1_000_000,
        "env_steps_per_s": 1.23e6,
        "progress_fraction": 0.5,
        "metrics": {"episode/return": 487.3},
    }
    run = Run(Path("/runs") / f"20261121-142530-{name}")
    return RunRow(run, RunStatus(run.id, state, **(known | fields)))  # type: ignore[arg-type]


def all_states() -> RunsView:
    """A run in every state there is."""
    rows = (
        make_row("starting-aaaa", "running", age_s=None, message="starting"),
        make_row("running-bbbb", "running", age_s=0.2),
        make_row("stalled-cccc", "stalled", age_s=42.0),
        make_row("finished-dddd", "finished", age_s=3_700.0, progress_fraction=1.0),
        make_row("stopped-eeee", "stopped", age_s=90_000.0),
        make_row("crashed-ffff", "crashed", age_s=200_000.0),
        make_row("failed-gggg", "failed", age_s=300_000.0, message="the loss is NaN"),
    )
    return RunsView(rows, is_complete=True)


GPU = GpuSample(
    "RTX 4090", 0.82, 5 << 30, 16 << 30, 210.0, 300.0, 61.0, index=0, slowdown_c=90.0,
    clock_mhz=2520.0, max_clock_mhz=3105.0, memory_clock_mhz=10501.0, others=(),
)  # fmt: skip
SAMPLES = tuple(
    MachineSample(
        num_processes=1,
        num_threads=9,
        memory_bytes=2 << 30,
        total_memory_bytes=64 << 30,
        num_cores=8,
        cpu_cores=cores,
        gpus=(replace(GPU, utilization_fraction=load),),
        core_loads=tuple(share * cores / 1.5 for share in (0.9, 0.4, 0.3, 0.1, 0.05, 0.05, 0, 0))
        if cores
        else (),
        load=2.4,
        used_memory_bytes=11 << 30,
        disk=DiskSample(412 << 30, 1 << 40, 0.0, 1.3e6),
        user="kim",
    )
    for cores, load in ((None, 0.1), (1.2, 0.5), (1.4, 0.9), (1.5, 0.82))
)


class StillRun:
    """A source of views of one run that always gives the view it has."""

    def __init__(self, view: RunView, sample: MachineSample | None = None) -> None:
        self.run = Run(Path("/runs") / view.status.run)
        self.view, self.sample = view, sample
        self.is_closed = False

    def poll(self) -> RunView:
        return self.view

    def machine(self) -> MachineSample | None:
        """Once: pictures must not depend on how long they take."""
        sample, self.sample = self.sample, None
        return sample

    def close(self) -> None:
        self.is_closed = True


class StillRuns:
    """A source of views of all runs that always gives the view it has."""

    def __init__(self, view: RunsView) -> None:
        self.view = view

    def poll(self) -> RunsView:
        return self.view


def put_page(session: RunSession, data: bytes) -> Path:
    """Put another file in the place of a run's page, its only trace: the writer, which has the old
    one mapped, lives on, but nothing tells that readers could find that one through /proc.
    """
    path = session.metrics.path
    assert path
    building = path.with_suffix(".new")
    building.write_bytes(data)
    building.rename(path)
    session.run.place_path.write_text("{}")
    return path


def texts(lines: list[list[tuple[str, str]]]) -> list[str]:
    """The texts of lines, without their styles."""
    return ["".join(text for text, _ in line) for line in lines]
