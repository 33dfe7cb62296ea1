"""Made-up runs of two settings with three seeds each; the last seed of each ends half way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from views import StillRun, make_history, make_row

from operant.monitor.runs.list.runs_poller import RunRow, RunsView
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import Metric
from operant.shared.runs.status import RunStatus

SCHEMA = (Metric("episode/return", better="up"), Metric("loss/value"))
RATES, SEEDS = (1e-3, 1e-2), (1, 2, 3)


def _row(rate: float, seed: int) -> RunRow:
    state, newest = ("failed", 50.0) if seed == 3 else ("finished", 100.0 * seed + 1000 * rate)
    row = make_row(
        f"cart_pole-seed{seed}-{'abcd'[seed]}{'efgh'[RATES.index(rate)]}zz",
        state,
        metrics={"episode/return": newest, "loss/value": 1.0 / seed},
        env_steps=100_000 if seed == 3 else 200_000,
    )
    config = {"env": "cart_pole", "seed": seed, "ppo.learning_rate": rate, "ppo.gamma": 0.99}
    return replace(row, config=config, device="cpu", returns=tuple(np.linspace(0, newest, 32)))


ROWS = tuple(_row(rate, seed) for rate in RATES for seed in SEEDS)


def grouped_runs() -> RunsView:
    return RunsView(ROWS, is_complete=True)


def member(row: RunRow) -> StillRun:
    """The source of one of `ROWS`: a line from 0 to its newest return, and a loss that falls."""
    assert row.status
    assert row.status.env_steps
    num_rows = row.status.env_steps // 2_000
    done = np.linspace(0.0, 1.0, num_rows)
    curves = {
        "episode/return": done * row.status.metrics["episode/return"],
        "loss/value": np.exp(-3 * done) * (1 + 0.2 * np.sin(40 * done)),
    }
    history = make_history(curves, 2_000 * np.arange(1, num_rows + 1))
    status = RunStatus(row.run.id, row.status.state, 3.0, num_rows, row.status.env_steps,
                       metrics=row.status.metrics)  # fmt: skip
    return StillRun(RunView(status, history, SCHEMA, publish=num_rows))
