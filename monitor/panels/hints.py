"""Why a run is slow, and what to try: one line, where one thing takes most of the time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...shared import History, Metric
from ...shared.page.events import RESUMED, Event
from ..charts.ticks import Floats
from ..runs.machine.tuning_advice import Knobs
from ..runs.reading.run_view import RunView
from .phases import NUM_ITERATIONS, PART_OF, phase_seconds
from .publish_cost import first_single

# What makes collecting faster leaves alone what is learned, so a hint pays early: from two thirds
# on, collecting twice as fast is a run half as fast again.
COLLECT_SHARE = 2 / 3
# Nothing is learned in a pause, and a longer interval is free: half of the time is too much.
PAUSE_SHARE = 0.5
# NVML counts the time in which any kernel runs, however small, and graphs replayed one after the
# other should leave none free: below this a GPU waits for the host. Not measured on one yet.
GPU_BUSY = 0.9
LEAST_ITERATIONS = 8  # of a mean that says anything; the first of all, which compiles, is no part
NUM_PAUSES = 4  # the newest of a kind: three whole times from one to the next

PAUSES = {"evaluate": "evaluating", "checkpoint": "saving"}
_STATES = ("running", "finished", "stopped", "ended")  # of others, speed is not what is the matter


class Shares(NamedTuple):
    """Shares of the time, 0 to 1: of the whole for pauses, of training (all but pauses) for the
    others; 0 where nothing steady is known.
    """

    collect: float = 0.0
    learn: float = 0.0
    evaluate: float = 0.0
    checkpoint: float = 0.0


class Hint(NamedTuple):
    """`matter` says what is slow, `doing` the same in a word or three, `knob` what to try."""

    matter: str
    doing: str
    knob: str

    def in_words(self, width: int = 160) -> str:
        """The longest wording that fits `width` cells, at least the knob; else empty."""
        wordings = (f"{self.matter}: {self.knob}", f"{self.doing}: {self.knob}", self.knob)
        return next((words for words in wordings if len(words) <= width), "")


def hint_of(view: RunView, gpu_busy: float | None = None) -> Hint | None:
    """The hint for a run as it is now; `gpu_busy` where it is known: see `GpuLoad`."""
    if view.knobs is None or view.status.state not in _STATES:
        return None
    if view.status.state != "running":
        gpu_busy = None
    return hint_for(view.knobs, steady_shares(view.schema, view.history), gpu_busy)


def hints_in_words(view: RunView) -> list[str]:
    """The hints that a command prints: the run's newest warning, then why the run is slow. A single
    look does not know the GPU's load, which is a mean over half a minute.
    """
    hint = hint_of(view)
    return list(filter(None, [newest_warning(view.events), hint.in_words() if hint else ""]))


def newest_warning(events: Sequence[Event]) -> str:
    """The text of the newest warning since the run last began; empty if it has no warning."""
    for event in reversed(events):
        if event.level == "warning":
            return event.text
        if event.text.startswith(RESUMED):
            break
    return ""


def hint_for(knobs: Knobs, shares: Shares, gpu_busy: float | None = None) -> Hint | None:
    """The hint that matters most, of those that have something to try: a pause, a GPU that waits,
    then what training does most. None where all is well.
    """
    training = (_gpu_hint(knobs, shares, gpu_busy), _collect_hint(knobs, shares))
    hints = (*_pause_hints(knobs, shares), *training)
    return next((hint for hint in hints if hint and hint.knob), None)


def _pause_hints(knobs: Knobs, shares: Shares) -> list[Hint]:
    """The longest first."""
    ranked = [
        (share, Hint(f"{doing} takes {share:.0%} of the time", doing, knob))
        for (name, doing), knob in zip(
            PAUSES.items(), (knobs.evaluate, knobs.checkpoint), strict=True
        )
        if (share := getattr(shares, name)) >= PAUSE_SHARE
    ]
    return [hint for _, hint in sorted(ranked, key=lambda one: -one[0])]


def _gpu_hint(knobs: Knobs, shares: Shares, gpu_busy: float | None) -> Hint | None:
    if not knobs.is_on_gpu or gpu_busy is None or gpu_busy >= GPU_BUSY:
        return None
    knob, percent = knobs.idle_gpu, int(100 * gpu_busy)  # never 90 for less
    mostly = ""
    if shares.learn > 0.5:
        knob, mostly = knobs.learn_on_idle_gpu or knob, ", mostly learning"
    elif shares.collect > 0.5:
        mostly = ", mostly collecting"
    return Hint(f"the GPU is {percent}% busy{mostly}", f"GPU {percent}% busy", knob)


def _collect_hint(knobs: Knobs, shares: Shares) -> Hint | None:
    """Learning has no hint: only less of it is faster, and changes what is learned."""
    if shares.collect < COLLECT_SHARE:
        return None
    doing = "collecting"
    return Hint(f"{doing} takes {shares.collect:.0%} of training", doing, knobs.collect)


def steady_shares(schema: Sequence[Metric], history: History) -> Shares:
    """From the newest iterations, as many as the panel shows the mean of; the pauses, which come
    only now and then, from the times between the newest `NUM_PAUSES` of each kind.
    """
    names, seconds = phase_seconds(schema, history)
    wholes = [PART_OF.get(name) for name in names]
    by_name = {
        name: row + sum(seconds[i] for i, whole in enumerate(wholes) if whole == name)
        for name, row in zip(names, seconds, strict=True)
        if PART_OF.get(name) not in names
    }
    shares = _training_shares(by_name)
    # A row that stands for many publishes does not say between which of them a pause was.
    names, seconds = phase_seconds(schema, history, first_single(history.publish))
    pauses = {
        name: _pause_share(seconds[names.index(name)], seconds.sum(axis=0))
        for name in PAUSES
        if name in names
    }
    return shares._replace(**pauses)


def _training_shares(seconds: dict[str, Floats]) -> Shares:
    """From the seconds of each phase in each iteration, [I]. A share is the lower of the mean and
    the median: no single iteration, as one that compiles, makes a hint.
    """
    training = {n: s[1:][-NUM_ITERATIONS:] for n, s in seconds.items() if n not in PAUSES}
    collect, learn = training.get("collect"), training.get("learn")
    if collect is None or learn is None or len(learn) < LEAST_ITERATIONS:
        return Shares()
    # Before algorithms with a replay begin to learn, they only collect, as they should.
    if not learn.all():
        return Shares()
    total = sum(training.values())
    shares = (
        min(float(part.sum() / np.sum(total)), float(np.median(part / total)))
        for part in (collect, learn)
    )
    return Shares(*shares)


def _pause_share(pause: Floats, total: Floats) -> float:
    """Its share of the time between the first and the last of the newest, from [I] seconds."""
    rows = np.flatnonzero(pause)[-NUM_PAUSES:]
    if len(rows) < NUM_PAUSES:
        return 0.0
    between = slice(int(rows[0]) + 1, int(rows[-1]) + 1)
    return float(pause[between].sum() / total[between].sum())
