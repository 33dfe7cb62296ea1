"""Snapshots of the screens. After an intended change: `pytest --snapshot-update`, and look.

A dozen screens are compared with stored pictures; others are checked for words at some sizes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from apps import grouping
from rich.cells import cell_len
from views import (
    EVENTS,
    NOON_NS,
    SAMPLES,
    SCHEMA,
    StillRun,
    StillRuns,
    all_states,
    make_history,
    make_view,
    training_curves,
)

from operant.monitor.app import MonitorApp
from operant.monitor.runs.list.comparison import Comparison
from operant.monitor.runs.machine.tuning_advice import WORKERS, Knobs
from operant.monitor.runs.reading.alerts import Alert
from operant.monitor.runs.reading.run_description import description_of
from operant.monitor.runs.reading.run_view import RunView
from operant.monitor.session.settings import Settings
from operant.shared import Event, Metric
from operant.shared.runs.run_notes import RunNotes

TRACEBACK = """Traceback (most recent call last):
  File "operant/trainer/process.py", line 42, in run_training
    train(config, session.metrics, run.checkpoint_folder)
  File "operant/trainer/ppo.py", line 118, in update
    raise FloatingPointError("the policy's loss is NaN at iteration 200")
FloatingPointError: the policy's loss is NaN at iteration 200"""

ALERTS = (
    Alert("error", "NaN or infinite: loss/value", 61, 2048 * 61, NOON_NS + 61, "loss/value"),
    Alert(
        "warning", "KL spike of 0.3000, the median is 0.008222", 121, 2048 * 121, NOON_NS + 121,
        "policy/approx_kl",
    ),
)  # fmt: skip


def rich_view(state="running", message="", shift=0.0) -> RunView:
    """A run with all there is: more metrics, a gap, an alert, phases, a console."""
    view = make_view(state, message)
    curves = training_curves(200)
    rows = np.arange(200)
    curves["episode/return"] = curves["episode/return"] * (1 - shift)
    curves["policy/approx_kl"][120] = 0.3
    curves["loss/value"][60:80] = np.nan
    more = {
        "policy/clip_fraction": 0.1 + 0.05 * np.sin(rows * 0.7),
        "value/explained_variance": 1 - np.exp(-rows / 40),
        "episode/length": curves["episode/return"] * 0.9,
        "optimizer/learning_rate": 1e-3 * (1 - rows / 400),
        "optimizer/grad_norm": 0.5 + 0.3 * np.cos(rows * 0.3),
        "time/publish_s": np.full(200, 8e-6),
        "time/checkpoint_s": np.where(rows % 50 == 49, 0.02, 0.0),
    }
    kinds = {name: ("timer" if name.startswith("time/") else "gauge") for name in more}
    schema = (*SCHEMA, *(Metric(name, kind=kinds[name]) for name in more))
    history = make_history(curves | more, 2048 * np.arange(1, 201))
    metrics = view.status.metrics | {name: float(column[-1]) for name, column in more.items()}
    status = replace(view.status, metrics=metrics)
    console = tuple(f"iteration {i}: 12.3k env steps, return {i / 2:.1f}" for i in range(150, 201))
    return RunView(status, history, schema, EVENTS, publish=200, console=console, alerts=ALERTS)


def run_app(view=None, **settings) -> MonitorApp:
    source = StillRun(view or rich_view(), SAMPLES[-1])
    return MonitorApp(source.run, run_source=lambda _: source, settings=Settings(**settings))


def several_runs() -> MonitorApp:
    """Three runs on the same charts, one of them the reference."""
    views = {
        name: replace(view, status=replace(view.status, run=f"20261121-142530-{name}"))
        for name, view in [
            ("cart_pole-ppo-k3f9", rich_view()),
            ("wide-network-b7qx", rich_view("finished", shift=0.2)),
            ("no-entropy-m2ze", rich_view("crashed", shift=0.45)),
        ]
    }
    sources = {view.status.run: StillRun(view, SAMPLES[-1]) for view in views.values()}
    first, reference, other = (source.run for source in sources.values())
    app = MonitorApp(first, run_source=lambda run: sources[run.id])
    app.session.comparison = Comparison((other,), reference)
    return app


def ready(word: str, *keys: str, then: str = ""):
    """Wait until the screen shows `word`, press `keys`, and wait until it shows `then`."""

    async def until(pilot, word: str) -> None:
        for _ in range(2000):
            await pilot.pause(0.005)
            strips = pilot.app.screen._compositor.render_strips()
            if any(word in strip.text for strip in strips):
                return
        raise AssertionError(f"{word} never came")

    async def wait(pilot) -> None:
        await until(pilot, word)
        for key in keys:
            await pilot.press(key)
        await until(pilot, then or word)
        await pilot.pause()

    return wait


def slow_to_collect() -> RunView:
    """A run whose environments are stepped one after the other."""
    view = rich_view()
    rows = np.arange(200)
    columns = {name: view.history.series(name).mean for name in view.history.names}
    columns["time/collect_s"] = 0.15 + 0.01 * np.sin(rows)
    history = make_history(columns, 2048 * np.arange(1, 201))
    return replace(view, history=history, knobs=Knobs(collect=WORKERS))


def well() -> MonitorApp:
    return run_app()


def failed() -> MonitorApp:
    view = rich_view("failed", "FloatingPointError: the policy's loss is NaN at iteration 200")
    failure = Event(4, NOON_NS + 80 * 10**9, "error", TRACEBACK, 409_600)
    return run_app(replace(view, events=(*EVENTS, failure)))


def crashed() -> MonitorApp:
    return run_app(rich_view("crashed", "the process ended without saying why"))


def by_state() -> MonitorApp:
    return MonitorApp(runs_source=StillRuns(all_states()), settings=Settings(order="state"))


CURSOR = ready("episode/return", "enter", "s", "s", "comma", *["less_than_sign"] * 2)
PICTURES = {
    "a_run_that_goes_well": (well, 120, ready("2.0 GiB")),
    "several_runs_with_a_reference": (several_runs, 200, ready("2.0 GiB")),
    "an_enlarged_chart_with_a_cursor": (several_runs, 120, CURSOR),
    "a_failed_run": (failed, 60, ready("loss is NaN")),
    "a_crashed_run_in_its_past": (
        crashed, 80, ready("episode/return", "r", *["pageup"] * 4, then="in the past"),
    ),
    "the_list_of_runs": (by_state, 120, ready("7 runs", "down", "space", "down", "p")),
    "runs_in_groups": (
        grouping, 80, ready("6 runs", "v", "enter", "space", "down", then="+"),
    ),
}  # fmt: skip
HEIGHTS = {60: 18, 80: 24, 120: 40, 200: 60}


@pytest.mark.parametrize("screen", PICTURES)
def test_a_screen(screen, snap_compare):
    make_app, width, wait = PICTURES[screen]
    assert snap_compare(make_app(), terminal_size=(width, HEIGHTS[width]), run_before=wait)


@pytest.mark.parametrize("theme", ["light", "colour-blind", "contrast", "plain"])
def test_every_theme(snap_compare, theme):
    wait = ready("episode/return")
    assert snap_compare(run_app(theme=theme), terminal_size=(80, 24), run_before=wait)


DEFAULTS = {"ppo.learning_rate": 3e-4, "num_envs": 256, "policy.hidden_sizes": [64, 64]}
SOURCES = {
    "preset cart_pole_ppo": ["env", "algorithm", "rollout_steps", "ppo.gamma", "ppo.clip_coef"],
    "hardware gpu_small": ["num_envs"],
    "you": ["seed", "policy.hidden_sizes", "ppo.learning_rate"],
}


def described(view: RunView, sources: dict[str, list[str]] = SOURCES, **changes) -> RunView:
    """Run with a configuration of which some keys are not by default, and written about."""
    config = {
        "env": "cart_pole", "algorithm": "ppo", "seed": 1, "num_envs": 128, "rollout_steps": 32,
        "policy": {"hidden_sizes": [256, 256], "activation": "tanh"},
        "ppo": {"learning_rate": 3e-3, "gamma": 0.99, "clip_coef": 0.2, "entropy_coef": 0.0},
    } | changes  # fmt: skip
    manifest = {
        "config": config, "defaults": DEFAULTS, "sources": sources, "git_commit": "3f2a9c1",
        "created": "2026-11-21T14:25:30Z", "command_line": "operant train --seed 1",
        "versions": {"python": "3.11.7"},
    }  # fmt: skip
    notes = RunNotes(note="a wider network: is it worth its time?", tags=("baseline", "wide"))
    return replace(view, description=description_of(manifest), notes=notes)


def differing() -> MonitorApp:
    """Three runs, each of which has a seed of its own."""
    app = several_runs()
    source_of, seeds = app._run_source, iter(range(9))

    def with_configuration(run):
        source = source_of(run)
        source.view = described(source.view, seed=next(seeds))
        return source

    app._run_source = with_configuration
    return app


GROUPS = ready("6 runs", "v", "enter", "space", "down", "enter", then="episode/return")
OTHERS = {
    "a hint in an enlarged pane": (
        lambda: run_app(slow_to_collect()), (80, 24),
        ready("episode/return", "tab", "enter", then=WORKERS), (),
    ),
    "a run in little room": (
        well, (60, 18), ready("episode/return"), ("● running", "▲ 2 alerts KL spike of 0.3000"),
    ),
    "panes without charts": (
        lambda: run_app(panes=("console", "machine", "time", "events")), (200, 60),
        ready("2.0 GiB"), ("iteration 199:", "12.3k env steps"),
    ),
    "two groups over each other": (
        grouping, (120, 40), GROUPS, ("2 groups", "lines are means, bands 25% to 75%"),
    ),
    "a configuration and what people wrote": (
        lambda: run_app(described(rich_view())), (80, 24),
        ready("episode/return", "6", then="configuration"),
        ("#baseline #wide", "3 of 11 set by you", "  set by you  "),
    ),
    "where runs differ": (
        differing, (120, 40), ready("2.0 GiB", "6", "enter", then="runs differ"),
        ("where 3 runs differ", "newest values", "seed", "• set by you"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("screen", OTHERS)
async def test_the_words_of_a_screen(screen):
    make_app, size, wait, words = OTHERS[screen]
    async with make_app().run_test(size=size) as pilot:
        await wait(pilot)
        lines = [strip.text for strip in pilot.app.screen._compositor.render_strips()]
    assert {cell_len(line) for line in lines} == {size[0]}
    assert len(lines) == size[1]
    text = "\n".join(lines)
    assert [word for word in words if word not in text] == [], text


async def test_ascii_alone():
    async with run_app(ascii=True).run_test(size=(80, 24)) as pilot:
        await ready("episode/return")(pilot)
        strips = pilot.app.screen._compositor.render_strips()
        assert all(strip.text.isascii() for strip in strips)
