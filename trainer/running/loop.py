"""The main loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from ...shared import MetricsWriter
from ...shared.runs.status import AVERAGE_ENV_STEPS_PER_S
from ..config import TrainConfig
from ..config.from_values import saved_config
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.states import broadcast_state
from ..experiment.build import make_experiment
from ..experiment.checkpoints import Checkpoint
from ..experiment.compile_progress import CompileWatch
from ..experiment.experiment import Experiment
from ..experiment.intervals import NOTHING, Due, Intervals, num_pauses_left
from ..experiment.restoring import moved_schedules, restoring
from ..machine.stopwatch import Stopwatch
from .callbacks import Callbacks
from .evaluating import Evaluating
from .health import Health
from .inspection.inspection import Inspection
from .saving import Saving
from .signals import Requests
from .step import Step
from .stopping import Stopping
from .telemetry import Publishing, Report, Telemetry

NO_CALLBACKS, NO_REQUESTS = Callbacks(), Requests()


def train(
    config: TrainConfig,
    metrics: MetricsWriter,
    checkpoint_folder: Path,
    *,
    resume_from: Checkpoint | None = None,
    requests: Requests = NO_REQUESTS,
    report: Report = lambda *_: None,
    ranks: ProcessGroup = LOCAL,
    callbacks: Callbacks = NO_CALLBACKS,
) -> bool:
    """Train to `config.total_env_steps`, or until `requests` or `callbacks` ask for a stop. The
    folder of the run is the one that `checkpoint_folder` is in. Of several `ranks` this is for the
    first; `following.follow` is for the others.

    Publishes to `metrics`, calls `report` with the same, and ends with a checkpoint; returns
    whether the run is complete. Raises DivergedError, without a checkpoint, if weights are no
    longer finite, and NothingLearnedError if the last updates moved nothing.
    """
    metrics.phase("compiling")
    with closing(make_experiment(config, ranks)) as experiment:
        prepare(experiment, metrics, resume_from)
        telemetry = Telemetry(
            metrics, experiment, report=report, num_pauses=num_pauses_left(experiment),
            average_before=metrics.latest(AVERAGE_ENV_STEPS_PER_S),
        )  # fmt: skip
        intervals = Intervals(experiment, requests.take)
        stopping = Stopping(experiment, requests, callbacks)
        compiling = CompileWatch(experiment, telemetry.stopwatch)
        telemetry.is_to_compile = compiling.is_under_way()
        experiment.on_tick(compiling.tick, telemetry.tick, stopping.check)

        inspection = Inspection(experiment, checkpoint_folder.parent, telemetry)
        evaluating = Evaluating(experiment, telemetry, stopping)
        health = Health(experiment, telemetry)
        saved_at = experiment.iteration if resume_from else None
        saving = Saving(experiment, metrics, checkpoint_folder, telemetry, callbacks, saved_at)
        measured = (telemetry, *rank_steps(experiment, telemetry.stopwatch), callbacks)
        steps = (inspection, evaluating, *measured, Publishing(telemetry), health, saving)
        # Saving closes first: callbacks hear of its last checkpoint before they hear of the end.
        with callbacks.during(experiment, saving, telemetry), closing(saving), closing(inspection):
            while not experiment.is_complete:
                due = intervals.of_next_iteration()
                if experiment.agreed(stopping.is_due, due.checkpoint).stop:
                    break
                with stopping.leaving():
                    iterate(experiment, telemetry.stopwatch, steps, due)
            end(experiment, steps)
            stopping.raise_exit()
            health.check_end()
        return experiment.is_complete


def prepare(experiment: Experiment, metrics: MetricsWriter, resume_from: Checkpoint | None) -> None:
    """Compile, and restore a checkpoint in all ranks."""
    experiment.compile(partial(metrics.phase, "compiling"))
    if experiment.ranks.size > 1:
        broadcast_state(experiment.ranks, vars(resume_from) if resume_from else None)
    if resume_from:
        metrics.phase("restoring")
        with restoring(resume_from.state, experiment.state_dict):
            experiment.load_state_dict(resume_from.state, resume_from.iteration)
        before = saved_config(resume_from.config)
        if text := moved_schedules(before, experiment.config, experiment.learned_env_steps):
            metrics.event("warning", text)


def rank_steps(experiment: Experiment, stopwatch: Stopwatch) -> Sequence[Step]:
    """The steps of a run of several ranks."""
    if experiment.ranks.size == 1:
        return ()
    from .rank_timing import RankTable

    return (RankTable(experiment, stopwatch),)


def iterate(experiment: Experiment, stopwatch: Stopwatch, steps: Sequence[Step], due: Due) -> None:
    """Start an iteration; take the steps after each iteration that has finished."""
    for step in steps:
        step.before(due)
    waits = any(due) or any(step.waits for step in steps)
    for row in experiment.iterate(stopwatch, waits):
        for step in steps:
            step.after(row, due if experiment.is_idle else NOTHING)


def end(experiment: Experiment, steps: Sequence[Step]) -> None:
    """Wait for all iterations under way, and take the last steps."""
    for row in experiment.finish():
        for step in steps:
            step.after(row, NOTHING)
    for step in steps:
        step.end()
