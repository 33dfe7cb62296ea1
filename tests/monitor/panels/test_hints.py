"""A hint says what takes most of the time, and what to try; where all is well there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from views import make_history, make_view

from operant.monitor.panels.hints import (
    COLLECT_SHARE,
    GPU_BUSY,
    LEAST_ITERATIONS,
    NUM_PAUSES,
    PAUSE_SHARE,
    Shares,
    hint_for,
    hint_of,
    hints_in_words,
    newest_warning,
    steady_shares,
)
from operant.monitor.runs.machine.tuning_advice import Knobs
from operant.monitor.runs.reading.run_view import RunView
from operant.shared import Metric
from operant.shared.page.events import Event

PHASES = ("collect", "learn", "evaluate", "checkpoint", "publish", "other")
SCHEMA = tuple(Metric(f"time/{name}_s") for name in (*PHASES, "inference"))
KNOBS = Knobs(
    collect="run operant bench CONFIG --tune",
    learn_on_idle_gpu="lower ppo.num_minibatches (changes learning)",
    idle_gpu="raise num_envs (changes learning)",
    evaluate="raise evaluation.every_iterations",
    checkpoint="raise checkpoint.every_iterations",
)
ON_GPU = replace(KNOBS, is_on_gpu=True)

share = st.floats(0, 1)
all_shares = st.builds(Shares, share, share, share, share)
any_knobs = st.sampled_from([KNOBS, ON_GPU, Knobs(), Knobs(is_on_gpu=True)])


def view_of(num_rows: int = 50, state: str = "running", knobs=KNOBS, **phases) -> RunView:
    """A run whose phases took so many seconds, in all iterations or in each."""
    columns = {f"time/{name}_s": np.zeros(num_rows) + seconds for name, seconds in phases.items()}
    schema = tuple(metric for metric in SCHEMA if metric.name in columns)
    history = make_history(columns)
    return replace(make_view(state), schema=schema, history=history, knobs=knobs)


def every(num_rows: int, interval: int, seconds: float) -> np.ndarray:
    """A pause after every `interval` iterations."""
    return np.where(np.arange(1, num_rows + 1) % interval == 0, seconds, 0.0)


@pytest.mark.parametrize(
    ("shares", "knobs", "gpu_busy", "words"),
    [
        (Shares(0.82, 0.18), KNOBS, None,
         "collecting takes 82% of training: run operant bench CONFIG --tune"),
        (Shares(0.1, 0.9, evaluate=0.6), KNOBS, None,
         "evaluating takes 60% of the time: raise evaluation.every_iterations"),
        (Shares(0.1, 0.9, 0.1, 0.7), KNOBS, None,
         "saving takes 70% of the time: raise checkpoint.every_iterations"),
        (Shares(0.3, 0.7), ON_GPU, 0.456,
         "the GPU is 45% busy, mostly learning: lower ppo.num_minibatches (changes learning)"),
        (Shares(0.7, 0.3), ON_GPU, 0.5,
         "the GPU is 50% busy, mostly collecting: raise num_envs (changes learning)"),
        (Shares(0.3, 0.3), ON_GPU, 0.5, "the GPU is 50% busy: raise num_envs (changes learning)"),
    ],
)  # fmt: skip
def test_what_is_said_of_what(shares, knobs, gpu_busy, words):
    assert hint_for(knobs, shares, gpu_busy).in_words() == words


@pytest.mark.parametrize("shares", [Shares(0.2, 0.8), Shares(0.5, 0.5), Shares(0.02, 0.98)])
def test_a_run_as_most_are_has_none(shares):
    assert hint_for(KNOBS, shares) is None
    assert hint_for(ON_GPU, shares, 0.95) is None


@given(any_knobs, all_shares, st.none() | share)
def test_there_is_a_hint_only_where_a_bound_is_passed_and_something_can_be_tried(
    knobs, shares, gpu
):
    hint = hint_for(knobs, shares, gpu)
    gpu_waits = knobs.is_on_gpu and gpu is not None and gpu < GPU_BUSY
    passed = (
        shares.collect >= COLLECT_SHARE,
        max(shares.evaluate, shares.checkpoint) >= PAUSE_SHARE,
        gpu_waits,
    )
    assert (hint is not None) == (any(passed) and bool(knobs.collect))
    if hint:
        assert hint.knob
        assert gpu_waits or "GPU" not in hint.in_words()


@given(all_shares, share, st.integers(0, 120))
def test_a_hint_stays_in_its_room_and_the_knob_is_said_first_of_all(shares, gpu_busy, width):
    hint = hint_for(ON_GPU, shares, gpu_busy)
    if hint:
        words = hint.in_words(width)
        assert len(words) <= width
        assert words.endswith(hint.knob) == (width >= len(hint.knob))
        assert "\n" not in words


def test_parts_of_collecting_are_collecting():
    shares = steady_shares(SCHEMA, view_of(collect=0.8, inference=0.6, learn=0.2).history)
    assert shares[:2] == pytest.approx((0.8, 0.2))


def test_pauses_are_no_part_of_training():
    shares = steady_shares(
        SCHEMA, view_of(collect=0.1, learn=0.9, evaluate=every(50, 5, 3.0)).history
    )
    # in 5 iterations 5 * 1 s of training and 3 s of evaluation
    assert shares == pytest.approx((0.1, 0.9, 3 / 8, 0.0))


def test_a_single_slow_iteration_makes_no_hint():
    compiling = np.full(50, 0.1)
    compiling[30] = 60.0
    assert hint_of(view_of(collect=compiling, learn=0.3)) is None
    once = np.zeros(50)
    once[30] = 600.0
    assert hint_of(view_of(collect=0.1, learn=0.3, evaluate=once)) is None


@pytest.mark.parametrize("num_rows", [0, 1, LEAST_ITERATIONS])
def test_a_run_that_has_hardly_begun_has_none(num_rows):
    assert hint_of(view_of(num_rows, collect=0.9, learn=0.1)) is None
    assert hint_of(view_of(LEAST_ITERATIONS + 1, collect=0.9, learn=0.1)) is not None


def test_before_it_learns_from_its_replay_a_run_only_collects():
    learn = np.where(np.arange(50) < 30, 0.0, 0.1)
    assert hint_of(view_of(collect=0.9, learn=learn)) is None


def test_pauses_count_once_there_were_several():
    def words(num_pauses: int) -> str | None:
        num_rows = 20 * num_pauses
        view = view_of(num_rows, collect=0.1, learn=0.3, evaluate=every(num_rows, 20, 10.0))
        hint = hint_of(view)
        return hint and hint.doing

    assert words(NUM_PAUSES - 1) is None
    assert words(NUM_PAUSES) == "evaluating"  # 10 s of evaluation to 20 * 0.4 s of training


def test_the_newest_warning_since_the_run_was_begun_is_a_hint():
    def event(level: str, text: str) -> Event:
        return Event(1, 0, level, text)

    learned_nothing, slow = event("warning", "all updates were skipped"), event("info", "saved")
    assert newest_warning([learned_nothing, slow]) == "all updates were skipped"
    assert newest_warning([learned_nothing, event("info", "resumed from iteration 3"), slow]) == ""
    view = replace(view_of(collect=0.9, learn=0.1), events=(learned_nothing,))
    assert hints_in_words(view)[0] == "all updates were skipped"
    assert hints_in_words(view)[1].startswith("collecting takes 90% of training")


@pytest.mark.parametrize("state", ["stalled", "crashed", "failed"])
def test_what_is_not_well_has_other_worries(state):
    assert hint_of(view_of(state=state, collect=0.9, learn=0.1), 0.1) is None


def test_a_run_that_is_over_says_nothing_of_the_gpu():
    well = view_of(knobs=ON_GPU, collect=0.5, learn=0.5)
    assert hint_of(well, 0.3).doing == "GPU 30% busy"
    assert hint_of(replace(well, status=replace(well.status, state="finished")), 0.3) is None


def test_of_a_loop_of_ones_own_nothing_is_known():
    assert hint_of(view_of(knobs=None, collect=0.9, learn=0.1), 0.1) is None
