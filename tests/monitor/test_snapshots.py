"""What the screens look like. After a change on purpose: `pytest --snapshot-update`, and look.

A picture is kept of a dozen screens (`PICTURES`); all others are looked at for their words.
"""

from __future__ import annotations

import asyncio
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
from operant.monitor.runs.list.runs_poller import RunsView
from operant.monitor.runs.machine.tuning_advice import WORKERS, Knobs
from operant.monitor.runs.reading.alerts import Alert
from operant.monitor.runs.reading.run_description import description_of
from operant.monitor.runs.reading.run_view import RunView
from operant.monitor.session.settings import Settings
from operant.shared import Event, Metric
from operant.shared.runs.run_notes import RunNotes

SIZES = [(60, 18), (80, 24), (120, 40), (200, 60)]
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

sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}")
# Tests, and the width at which a picture is kept of each.
PICTURES = {
    "test_a_run_that_goes_well": 120,
    "test_several_runs_with_a_reference": 200,
    "test_an_enlarged_chart_of_several_runs_with_a_cursor": 120,
    "test_a_failed_run_opens_with_its_traceback": 60,
    "test_a_crashed_run_in_its_past": 80,
    "test_the_list_of_runs": 120,
    "test_runs_in_groups": 80,
    "test_every_theme": 80,
}


@pytest.fixture
def look(request, snap_compare):
    """Draw an app at a size until `wait` is over. Where no picture is kept, its lines must fill the
    screen, and `words` stand in them.
    """

    def look(app: MonitorApp, size: tuple[int, int], wait, *words: str) -> list[str]:
        if PICTURES.get(request.function.__name__) == size[0]:
            assert snap_compare(app, terminal_size=size, run_before=wait)
            return []

        async def strips() -> list[str]:
            async with app.run_test(size=size) as pilot:
                await wait(pilot)
                return [strip.text for strip in pilot.app.screen._compositor.render_strips()]

        lines = asyncio.run(strips())
        assert {cell_len(line) for line in lines} == {size[0]}
        assert len(lines) == size[1]
        text = "\n".join(lines)
        assert [word for word in words if word not in text] == [], text
        return lines

    return look


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


def drawn(size) -> str:
    """What stands on a run's screen once all of it is there."""
    return "episode/return" if size[0] < 120 else "2.0 GiB"


@sizes
def test_a_run_that_goes_well(look, size):
    wait = ready(drawn(size))
    look(
        run_app(),
        size,
        wait,
        "● running",
        "steps/s 1.23M",
        "return 488.1",
        "60.0%",
        "▲ 2 alerts KL spike of 0.3000",
        "loss/policy",
    )


def slow_to_collect() -> RunView:
    """A run whose environments are stepped one after the other."""
    view = rich_view()
    rows = np.arange(200)
    columns = {name: view.history.series(name).mean for name in view.history.names}
    columns["time/collect_s"] = 0.15 + 0.01 * np.sin(rows)
    history = make_history(columns, 2048 * np.arange(1, 201))
    return replace(view, history=history, knobs=Knobs(collect=WORKERS))


@sizes
def test_a_hint_where_there_is_room(look, size):
    app = run_app(slow_to_collect())
    words = {200: f"collecting takes 89% of training: {WORKERS}", 120: WORKERS}
    look(app, size, ready(drawn(size)), words.get(size[0], "▲ 2 alerts"))


def test_a_hint_in_an_enlarged_pane(look):
    wait = ready("episode/return", "tab", "enter", then=WORKERS)
    app = run_app(slow_to_collect())
    look(app, (80, 24), wait)


@sizes
def test_several_runs_with_a_reference(look, size):
    wait = ready(drawn(size))
    look(several_runs(), size, wait, " ref", "▼", "□")


@sizes
def test_an_enlarged_chart_of_several_runs_with_a_cursor(look, size):
    wait = ready("episode/return", "enter", "s", "s", "comma", *["less_than_sign"] * 2)
    look(several_runs(), size, wait, "smoothed 0.5%", " ref", "alerts")


@sizes
def test_a_failed_run_opens_with_its_traceback(look, size):
    view = rich_view("failed", "FloatingPointError: the policy's loss is NaN at iteration 200")
    failure = Event(4, NOON_NS + 80 * 10**9, "error", TRACEBACK, 409_600)
    app = run_app(replace(view, events=(*EVENTS, failure)))
    look(app, size, ready("loss is NaN"), "! failed", "FloatingPointError", "trainer/ppo.py")


@sizes
def test_a_crashed_run_in_its_past(look, size):
    view = rich_view("crashed", "the process is gone without a last word")
    wait = ready(drawn(size), "r", *["pageup"] * 4, then="in the past")
    look(run_app(view), size, wait, "in the past", "✗ crashed")


@sizes
def test_panes_without_charts(look, size):
    app = run_app(panes=("console", "machine", "time", "events"))
    wait = ready("iteration 200:") if size[0] < 120 else ready("2.0 GiB")
    look(app, size, wait, "iteration 199:", "12.3k env steps")


@sizes
def test_the_list_of_runs(look, size):
    app = MonitorApp(runs_source=StillRuns(all_states()), settings=Settings(order="state"))
    wait = ready("7 runs", "down", "space", "down", "p")
    look(app, size, wait, "7 runs, 3 alive", "state↓", "▌◐◆stalled", "1h 01m")


@sizes
def test_runs_in_groups(look, size):
    wait = ready("6 runs", "v", "enter", "space", "down", then="+")
    look(grouping(), size, wait, "25% to 75%", "117.3", "!1 ✓2", "▌")


@sizes
def test_two_groups_over_each_other(look, size):
    wait = ready("6 runs", "v", "enter", "space", "down", "enter", then="episode/return")
    look(grouping(), size, wait, "2 groups", "lines are means, bands 25% to 75%")


@sizes
def test_a_choice_of_what_to_sort_by(look, size):
    wait = ready("6 runs", "s", *"e", "down", then="sort by")
    look(grouping(), size, wait, "sort by  e", "▌ state", "newest")


@sizes
def test_a_filter_that_is_wrong(look, size):
    app = MonitorApp(runs_source=StillRuns(all_states()))
    wait = ready("7 runs", "slash", *"state:runing", then="did you mean")
    look(app, size, wait, "1 of 7 runs", "did you mean 'running'?")


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


@sizes
def test_a_configuration_and_what_people_wrote(look, size):
    wait = ready(drawn(size), "6", then="configuration")
    words = ("#baseline #wide", "3 of 11 set by you", "  set by you  ")
    look(run_app(described(rich_view())), size, wait, *words)


@sizes
def test_a_configuration_of_an_older_run(look, size):
    wait = ready(drawn(size), "6", then="configuration")
    words = ("#baseline #wide", "• num_envs", "128")
    look(run_app(described(rich_view(), {})), size, wait, *words)


@sizes
def test_where_several_runs_differ_enlarged(look, size):
    app = several_runs()
    source_of, seeds = app._run_source, iter(range(9))

    def with_configuration(run):
        source = source_of(run)
        source.view = described(source.view, seed=next(seeds))
        return source

    app._run_source = with_configuration
    wait = ready(drawn(size), "6", "enter", then="runs differ")
    lines = look(app, size, wait, "where 3 runs differ", "newest values", "seed", "• set by you")
    assert sum(" ref " in line for line in lines) == 2  # the legend, and the head of its column


def test_a_note_that_is_edited(look):
    wait = ready("episode/return", "e", then="leaves it as it was")
    look(run_app(described(rich_view())), (80, 24), wait, "leaves it as it was", "note: ")


@sizes
def test_the_list_with_names_tags_and_notes(look, size):
    notes = RunNotes("wide network", "is it worth its time?", ("baseline",))
    rows = [replace(row, notes=notes if i % 2 else row.notes)
            for i, row in enumerate(all_states().rows)]  # fmt: skip
    app = MonitorApp(runs_source=StillRuns(RunsView(tuple(rows), True)))
    look(app, size, ready("7 runs"), "7 runs, 3 alive", "wide network")


@sizes
def test_the_help(look, size):
    wait = ready(drawn(size), "question_mark", then="everywhere")
    look(run_app(), size, wait, "everywhere", "q ctrl+c ctrl+q", "quit; the run goes on")


@sizes
def test_a_question_before_the_trainer_is_stopped(look, size):
    wait = ready(drawn(size), "X", then="sure?")
    look(run_app(), size, wait, "Stop 2026", "y yes", "n no")


@pytest.mark.parametrize("theme", ["light", "colour-blind", "contrast", "plain"])
def test_every_theme(look, theme):
    app = run_app(theme=theme)
    look(app, (80, 24), ready("episode/return"))


def test_ascii_alone(look):
    app = run_app(ascii=True)
    assert all(line.isascii() for line in look(app, (80, 24), ready("episode/return")))
