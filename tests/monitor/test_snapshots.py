"""What the screens look like. After a change on purpose: `pytest --snapshot-update`, and look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from apps import grouping
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
from operant.monitor.runs.alerts import Alert
from operant.monitor.runs.comparison import Comparison
from operant.monitor.runs.knobs import WORKERS, Knobs
from operant.monitor.runs.run_description import description_of
from operant.monitor.runs.run_view import RunView
from operant.monitor.runs.runs_poller import RunsView
from operant.monitor.session.settings import Settings
from operant.shared import Event, Metric
from operant.shared.run_notes import RunNotes
from operant.shared.status import RunStatus

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


def rich_view(state="running", message="", shift=0.0) -> RunView:
    """A run with all there is: more metrics, a gap, an alert, phases, a log."""
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
    log = tuple(f"iteration {i}: 12.3k env steps, return {i / 2:.1f}" for i in range(150, 201))
    return RunView(status, history, schema, EVENTS, publish=200, log=log, alerts=ALERTS)


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
def test_a_run_that_goes_well(snap_compare, size):
    wait = ready(drawn(size))
    assert snap_compare(run_app(), terminal_size=size, run_before=wait)


def of_ranks(*shares: tuple[str, int, float, float], state="running") -> RunView:
    """A run of ranks: machine, environments, share of the time that it waits, env steps/s."""
    view = rich_view()
    ranks = [
        RunStatus(
            view.status.run, "running", 0.2, 200, 409_600, speed, host=host, rank=number,
            metrics=view.status.metrics | {
                "rank/num_envs": envs, "rank/env_steps_per_s": speed, "rank/iteration_s": 0.0523,
                "rank/waiting_fraction": waits,
            },
        )
        for number, (host, envs, waits, speed) in enumerate(shares)
    ]  # fmt: skip
    ranks[-1] = replace(ranks[-1], state=state, message="")
    return replace(view, status=replace(view.status, ranks=tuple(ranks)))


THREE_MACHINES = (
    ("laptop", 56, 0.312, 574_000.0),
    ("mini", 40, 0.284, 410_000.0),
    ("air", 24, 0.021, 246_000.0),
)


@sizes
def test_a_run_of_several_ranks(snap_compare, size):
    wait = ready({60: "episode/return", 200: "2.0 GiB"}.get(size[0], "slowest: 2 air"))
    app = run_app(of_ranks(*THREE_MACHINES))
    assert snap_compare(app, terminal_size=size, run_before=wait)


def test_many_ranks_the_urgent_ones_first(snap_compare):
    shares = [(f"node{i // 8}", 128, 0.02 + i * 37 % 64 / 100, 1e5 + i) for i in range(64)]
    app = run_app(of_ranks(*shares, state="stalled"), panes=("charts", "ranks"))
    assert snap_compare(app, terminal_size=(120, 40), run_before=ready("60 more"))


def test_many_ranks_in_an_enlarged_pane(snap_compare):
    shares = [(f"node{i // 8}", 128, 0.02 + i * 37 % 64 / 100, 1e5 + i) for i in range(32)]
    app = run_app(of_ranks(*shares), panes=("charts", "ranks"))
    wait = ready("32 ranks", "tab", "enter", then="31 node3")
    assert snap_compare(app, terminal_size=(100, 45), run_before=wait)


def test_the_part_of_a_run_on_another_machine(snap_compare):
    view = of_ranks(*THREE_MACHINES)
    status = replace(view.status, host="laptop")
    view = replace(view, status=status, alerts=(), is_recorded=False, rank=2)
    wait = ready("every row are there")
    assert snap_compare(run_app(view), terminal_size=(120, 30), run_before=wait)


def slow_to_collect() -> RunView:
    """A run whose environments are stepped one after the other."""
    view = rich_view()
    rows = np.arange(200)
    columns = {name: view.history.series(name).mean for name in view.history.names}
    columns["time/collect_s"] = 0.15 + 0.01 * np.sin(rows)
    history = make_history(columns, 2048 * np.arange(1, 201))
    return replace(view, history=history, knobs=Knobs(collect=WORKERS))


@sizes
def test_a_hint_where_there_is_room(snap_compare, size):
    app = run_app(slow_to_collect())
    assert snap_compare(app, terminal_size=size, run_before=ready(drawn(size)))


def test_a_hint_in_an_enlarged_pane(snap_compare):
    wait = ready("episode/return", "tab", "enter", then=WORKERS)
    app = run_app(slow_to_collect())
    assert snap_compare(app, terminal_size=(80, 24), run_before=wait)


@sizes
def test_several_runs_with_a_reference(snap_compare, size):
    wait = ready(drawn(size))
    assert snap_compare(several_runs(), terminal_size=size, run_before=wait)


@sizes
def test_an_enlarged_chart_of_several_runs_with_a_cursor(snap_compare, size):
    wait = ready("episode/return", "enter", "s", "s", "comma", *["less_than_sign"] * 2)
    assert snap_compare(several_runs(), terminal_size=size, run_before=wait)


@sizes
def test_a_failed_run_opens_with_its_traceback(snap_compare, size):
    view = rich_view("failed", "FloatingPointError: the policy's loss is NaN at iteration 200")
    failure = Event(4, NOON_NS + 80 * 10**9, "error", TRACEBACK, 409_600)
    app = run_app(replace(view, events=(*EVENTS, failure)))
    assert snap_compare(app, terminal_size=size, run_before=ready("loss is NaN"))


@sizes
def test_a_crashed_run_in_its_past(snap_compare, size):
    view = rich_view("crashed", "the process is gone without a last word")
    wait = ready(drawn(size), "r", *["pageup"] * 4, then="in the past")
    assert snap_compare(run_app(view), terminal_size=size, run_before=wait)


@sizes
def test_panes_without_charts(snap_compare, size):
    app = run_app(panes=("log", "machine", "time", "events"))
    wait = ready("iteration 200:") if size[0] < 120 else ready("2.0 GiB")
    assert snap_compare(app, terminal_size=size, run_before=wait)


@sizes
def test_the_list_of_runs(snap_compare, size):
    app = MonitorApp(runs_source=StillRuns(all_states()), settings=Settings(order="state"))
    wait = ready("7 runs", "down", "space", "down", "p")
    assert snap_compare(app, terminal_size=size, run_before=wait)


@sizes
def test_runs_in_groups(snap_compare, size):
    wait = ready("6 runs", "v", "enter", "space", "down", then="+")
    assert snap_compare(grouping(), terminal_size=size, run_before=wait)


@sizes
def test_two_groups_over_each_other(snap_compare, size):
    wait = ready("6 runs", "v", "enter", "space", "down", "enter", then="episode/return")
    assert snap_compare(grouping(), terminal_size=size, run_before=wait)


@sizes
def test_a_choice_of_what_to_sort_by(snap_compare, size):
    wait = ready("6 runs", "s", *"e", "down", then="sort by")
    assert snap_compare(grouping(), terminal_size=size, run_before=wait)


@sizes
def test_a_filter_that_is_wrong(snap_compare, size):
    app = MonitorApp(runs_source=StillRuns(all_states()))
    wait = ready("7 runs", "slash", *"state:runing", then="did you mean")
    assert snap_compare(app, terminal_size=size, run_before=wait)


DEFAULTS = {"ppo.learning_rate": 3e-4, "num_envs": 256, "policy.hidden_sizes": [64, 64]}


def described(view: RunView, **changes) -> RunView:
    """Run with a configuration of which some keys are not by default, and written about."""
    config = {
        "env": "cart_pole", "algorithm": "ppo", "seed": 1, "num_envs": 128, "rollout_steps": 32,
        "policy": {"hidden_sizes": [256, 256], "activation": "tanh"},
        "ppo": {"learning_rate": 3e-3, "gamma": 0.99, "clip_coef": 0.2, "entropy_coef": 0.0},
    } | changes  # fmt: skip
    manifest = {
        "config": config, "defaults": DEFAULTS, "git_commit": "3f2a9c1",
        "created": "2026-11-21T14:25:30Z", "command_line": "operant train --seed 1",
        "versions": {"python": "3.11.7"},
    }  # fmt: skip
    notes = RunNotes(note="a wider network: is it worth its time?", tags=("baseline", "wide"))
    return replace(view, description=description_of(manifest), notes=notes)


@sizes
def test_a_configuration_and_what_people_wrote(snap_compare, size):
    wait = ready(drawn(size), "7", then="configuration")
    assert snap_compare(run_app(described(rich_view())), terminal_size=size, run_before=wait)


@sizes
def test_where_several_runs_differ_enlarged(snap_compare, size):
    app = several_runs()
    source_of, seeds = app._run_source, iter(range(9))

    def with_configuration(run):
        source = source_of(run)
        source.view = described(source.view, seed=next(seeds))
        return source

    app._run_source = with_configuration
    wait = ready(drawn(size), "7", "enter", then="runs differ")
    assert snap_compare(app, terminal_size=size, run_before=wait)


def test_tags_that_are_edited(snap_compare):
    wait = ready("episode/return", "E", then="leaves it as it was")
    app = run_app(described(rich_view()))
    assert snap_compare(app, terminal_size=(80, 24), run_before=wait)


@sizes
def test_the_list_with_names_tags_and_notes(snap_compare, size):
    notes = RunNotes("wide network", "is it worth its time?", ("baseline",))
    rows = [replace(row, notes=notes if i % 2 else row.notes)
            for i, row in enumerate(all_states().rows)]  # fmt: skip
    app = MonitorApp(runs_source=StillRuns(RunsView(tuple(rows), True)))
    assert snap_compare(app, terminal_size=size, run_before=ready("7 runs"))


@sizes
def test_the_help(snap_compare, size):
    wait = ready(drawn(size), "question_mark", then="everywhere")
    assert snap_compare(run_app(), terminal_size=size, run_before=wait)


@sizes
def test_a_question_before_the_trainer_is_stopped(snap_compare, size):
    wait = ready(drawn(size), "X", then="sure?")
    assert snap_compare(run_app(), terminal_size=size, run_before=wait)


@pytest.mark.parametrize("theme", ["light", "colour-blind", "contrast", "plain"])
def test_every_theme(snap_compare, theme):
    app = run_app(theme=theme)
    assert snap_compare(app, terminal_size=(80, 24), run_before=ready("episode/return"))


def test_ascii_alone(snap_compare):
    app = run_app(ascii=True)
    assert snap_compare(app, terminal_size=(80, 24), run_before=ready("episode/return"))
