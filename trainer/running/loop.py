"""The main loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ...shared import MetricsWriter
from ...shared.page.requests import TakeRequest
from ...shared.runs.status import AVERAGE_ENV_STEPS_PER_S
from ...shared.text.short_numbers import short_number
from ..algorithms.algorithm import epsilon_at, scheduled
from ..config import TrainConfig
from ..config.from_values import saved_config
from ..config.sections.exploring import EpsilonGreedyConfig
from ..distributed.process_group import LOCAL, ProcessGroup
from ..distributed.states import broadcast_state
from ..experiment.build import make_experiment
from ..experiment.checkpoints import Checkpoint
from ..experiment.compile_progress import CompileProgress
from ..experiment.evaluation import cut_off_message
from ..experiment.experiment import Experiment
from ..experiment.intervals import Due, Intervals
from ..experiment.precompiling import is_ready
from ..experiment.restoring import restoring
from ..experiment.trained_policy import copy_of_policy
from ..returns.episodes import Evaluation
from .callbacks import EXITS, Callbacks
from .checkpoint_writer import CheckpointWriter
from .divergence import check_weights
from .inspection.inspection import Inspection
from .rank_timing import RankTable
from .skipped_updates import SkippedUpdates
from .telemetry import EndlessEpisodes, Report, Telemetry

NO_CALLBACKS = Callbacks()


def train(
    config: TrainConfig,
    metrics: MetricsWriter,
    checkpoint_folder: Path,
    *,
    resume_from: Checkpoint | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    take_request: TakeRequest = lambda _: False,
    report: Report = lambda *_: None,
    ranks: ProcessGroup = LOCAL,
    callbacks: Callbacks = NO_CALLBACKS,
) -> bool:
    """Train to `config.total_env_steps`, or until `should_stop`. It is asked between iterations, as
    is `take_request`, and within those that may be left. The run's folder is the one that
    `checkpoint_folder` is in. Of several `ranks` this is for the first; `ranks.following` is for
    the others. `callbacks` are called between iterations, and may end training as well.

    Publishes to `metrics` and tells `report` the same. Ends with a checkpoint either way; returns
    whether the run is complete. Raises DivergedError, without a checkpoint, where weights are no
    longer numbers, and NothingLearnedError where the last updates moved nothing.
    """
    metrics.phase("compiling")
    compiling = partial(metrics.phase, "compiling")
    with closing(make_experiment(config, compiling, ranks)) as experiment:
        prepare(experiment, metrics, resume_from)
        intervals = Intervals(config, experiment, take_request)
        telemetry = telemetry_of(experiment, metrics, intervals, report)
        telemetry.callbacks = callbacks if callbacks else None
        intervals.stopwatch = telemetry.stopwatch
        look_at_compiling = watch_compiling(experiment, telemetry)

        def tick() -> None:
            look_at_compiling()
            telemetry.tick()
            if experiment.may_be_left and should_stop():
                raise _StoppedMidwayError

        experiment.on_tick(tick)
        tell_notices(experiment, telemetry)
        saved_at = experiment.iteration if resume_from else None
        keep = config.checkpoint.keep
        written = callbacks.checkpoint

        def save(name: str, values: Mapping[str, float]) -> Path:
            return writer.keep_policy(name, policy_checkpoint(experiment, metrics, values))

        writer = CheckpointWriter(checkpoint_folder, keep, telemetry, saved_at, written)
        # The writer ends first: callbacks hear of its last checkpoint before they hear of the end.
        with (
            callbacks.during(experiment, checkpoint_folder.parent, save, telemetry),
            closing(writer),
        ):
            inspection = Inspection(experiment, checkpoint_folder.parent, telemetry)
            exited: BaseException | None = None  # an environment did, by itself
            while not experiment.is_complete:
                due = intervals.of_next_iteration()
                is_to_stop = should_stop() or callbacks.end_training
                if experiment.agreed(is_to_stop, due.checkpoint).stop:
                    break
                former = experiment.iteration
                try:
                    # Some env steps of what may be the last may be dead: then more follow.
                    waits = experiment.is_complete_after(experiment.num_started + 1)
                    waits |= callbacks.follow_iterations or inspection.wants_next
                    iterate(experiment, due, telemetry, inspection, should_stop, waits)
                except _StoppedMidwayError:
                    break
                except EXITS as error:
                    is_between = experiment.is_idle and experiment.iteration > former
                    if should_stop() or not (experiment.may_be_left or is_between):
                        raise
                    exited = error
                    break
                writer.tell()
                if due.checkpoint:
                    with telemetry.stopwatch.phase("checkpoint"):
                        writer.begin(checkpoint_of(experiment, metrics))
            for values in experiment.finish():
                telemetry.iteration(values)
                check_weights(experiment, values)
            telemetry.end()

            needs = writer.needs(experiment.iteration) or experiment.is_amid_updates
            if experiment.agreed(False, needs).checkpoint:
                with telemetry.stopwatch.phase("checkpoint"):
                    writer.write(checkpoint_of(experiment, metrics))
            if exited:
                raise exited
            if experiment.is_complete:
                telemetry.skipped_updates.check_end()
        return experiment.is_complete


def prepare(experiment: Experiment, metrics: MetricsWriter, resume_from: Checkpoint | None) -> None:
    """All that comes before the first iteration."""
    experiment.compile(partial(metrics.phase, "compiling"))
    broadcast_state(experiment.ranks, vars(resume_from) if resume_from else None)
    if resume_from:
        metrics.phase("restoring")
        with restoring(resume_from.state, experiment.state_dict):
            experiment.load_state_dict(resume_from.state, resume_from.iteration)
        before = saved_config(resume_from.config)
        if text := moved_schedules(before, experiment.config, experiment.learned_env_steps):
            metrics.event("warning", text)


def moved_schedules(before: TrainConfig, now: TrainConfig, env_steps: int) -> str:
    """Say from where to where schedules move as a run that has learned from `env_steps` goes on
    with another configuration, and how they stay as they were; empty where nothing moves.
    """
    values = [scheduled_values(config, env_steps) for config in (before, now)]
    moved = [
        f"{key} goes from {short_number(old)} to {short_number(new)}"
        for (key, old), new in zip(values[0].items(), values[1].values(), strict=True)
        if old != new
    ]
    if not moved:
        return ""
    kept = before.schedule_env_steps or before.total_env_steps
    return f"{', '.join(moved)}; with schedule_env_steps = {kept} schedules stay as they were"


def scheduled_values(config: TrainConfig, env_steps: int) -> dict[str, float]:
    """The values of a run's schedules after `env_steps`, by their keys."""
    section = config.algorithm_section
    fraction = min(env_steps / (config.num_scheduled_iterations * config.rollout_size), 1.0)
    values = {}
    for key in ("learning_rate", "clip_coef", "entropy_coef"):
        schedule: Any = getattr(section, f"{key.removesuffix('_coef')}_schedule", "constant")
        if schedule != "constant":
            value = scheduled(getattr(section, key), schedule, fraction)
            values[f"{config.base_algorithm}.{key}"] = float(value)
    if isinstance(section, EpsilonGreedyConfig):
        values["exploration/epsilon"] = float(epsilon_at(section, fraction))
    return values


def telemetry_of(
    experiment: Experiment, metrics: MetricsWriter, intervals: Intervals, report: Report
) -> Telemetry:
    """What publishes the progress of an experiment from here on."""
    telemetry = Telemetry(
        metrics, experiment.planned_env_steps, experiment, report=report,
        num_pauses=intervals.num_pauses_left(),
        average_before=metrics.latest(AVERAGE_ENV_STEPS_PER_S),
    )  # fmt: skip
    algorithm = experiment.algorithm
    telemetry.skipped_updates = SkippedUpdates(
        algorithm.updates_per_iteration, int(algorithm.num_updates),
        int(algorithm.finite_updates.num_skipped),
    )  # fmt: skip
    telemetry.endless_episodes = EndlessEpisodes(experiment.config.num_rows, experiment.env_steps)
    if experiment.ranks.size > 1:
        telemetry.rank_table = RankTable(experiment, telemetry.stopwatch)
    return telemetry


def watch_compiling(experiment: Experiment, telemetry: Telemetry) -> Callable[[], None]:
    """Returns a function for each tick that shows how far compiling is, in runs that compile as
    they iterate.
    """
    compiling = CompileProgress(experiment.loops)
    still_compiles = partial(is_compiling, experiment, experiment.iteration)

    def look() -> None:
        if still_compiles():
            telemetry.stopwatch.say_progress(*compiling.look())
        elif not compiling.is_over:
            compiling.look()  # for how long the last of them took

    telemetry.stopwatch.is_compiling = still_compiles
    telemetry.is_to_compile = still_compiles()
    if telemetry.is_to_compile:
        telemetry.stopwatch.said("compiling")
        look()
    return look


def iterate(
    experiment: Experiment,
    due: Due,
    telemetry: Telemetry,
    inspection: Inspection,
    should_stop: Callable[[], bool],
    waits: bool,
) -> None:
    """Start an iteration, and publish those that have finished, with what is due after it. All
    that were started have finished where something is due, or the caller `waits` for them.
    """
    with inspection.tracing(due.trace):
        finished = experiment.iterate(telemetry.stopwatch, waits or due.anything)
    for values in finished:
        if due.anything and experiment.is_idle:
            values |= inspection.values(due)
            if due.evaluation and (experiment.is_complete or not due.evaluates_at_end):
                values |= evaluation_values(experiment, telemetry, should_stop)
        telemetry.total_env_steps = experiment.planned_env_steps
        telemetry.iteration(values)
        check_weights(experiment, values)
    tell_notices(experiment, telemetry)
    inspection.after(due)


def tell_notices(experiment: Experiment, telemetry: Telemetry) -> None:
    for notice in experiment.take_notices():
        telemetry.event("info", notice)


def is_compiling(experiment: Experiment, first: int) -> bool:
    """Whether iteration `first` + 1 still waits for the machine code of its loops."""
    return experiment.iteration == first and not all(map(is_ready, experiment.loops))


def checkpoint_of(experiment: Experiment, metrics: MetricsWriter) -> Checkpoint:
    """This moment of a run, with tensors that training goes on changing."""
    return Checkpoint(
        iteration=experiment.iteration,
        env_steps=experiment.env_steps,
        publish=metrics.num_publishes,
        config=experiment.config.model_dump(mode="json"),
        state=experiment.state_dict(),
    )


def policy_checkpoint(
    experiment: Experiment, metrics: MetricsWriter, values: Mapping[str, float]
) -> Checkpoint:
    """A copy of the policy, and the metrics that it has: to load it, not to resume."""
    copied = copy_of_policy(experiment.policy, experiment.config, experiment.iteration)
    return Checkpoint(
        iteration=experiment.iteration,
        env_steps=experiment.env_steps,
        publish=metrics.num_publishes,
        config=experiment.config.model_dump(mode="json"),
        state={"policy": copied.policy.state_dict(), "metrics": dict(values)},
    )


class _StoppedMidwayError(Exception):
    """A stop was requested during an evaluation, or during an iteration that may be left."""


def evaluation_values(
    experiment: Experiment, telemetry: Telemetry, should_stop: Callable[[], bool]
) -> dict[str, float]:
    """Metrics of greedy episodes with the policy as it is now; tells what came of them. None where
    a stop is asked for meanwhile: episodes can be long.
    """

    def progress(done: int, total: int, unit: str) -> None:
        if should_stop():
            raise _StoppedMidwayError
        telemetry.progress(done, total, unit)

    try:
        with telemetry.stopwatch.phase("evaluate"):
            num_episodes = experiment.config.evaluation.num_episodes
            evaluation = experiment.evaluate(num_episodes, progress)
    except _StoppedMidwayError:
        telemetry.event("info", "the evaluation was left for the stop that was asked for")
        return {}
    report_evaluation(evaluation, experiment.config, telemetry)
    return {
        "evaluation/return": float(evaluation.returns.mean()),
        "evaluation/length": float(evaluation.lengths.mean()),
        **evaluation.details,
    }


def report_evaluation(evaluation: Evaluation, config: TrainConfig, telemetry: Telemetry) -> None:
    mean_return = short_number(evaluation.returns.mean())
    telemetry.event("info", f"{mean_return} mean return of the evaluation")
    if evaluation.num_cut_off:
        limit = config.evaluation.max_episode_steps
        telemetry.event("warning", cut_off_message(evaluation, limit))
