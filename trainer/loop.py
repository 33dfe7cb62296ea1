"""The main loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from ..shared import MetricsWriter
from ..shared.requests import TakeRequest
from ..shared.status import AVERAGE_ENV_STEPS_PER_S
from .config import TrainConfig
from .evaluation import Evaluation, cut_off_message
from .experiment import Experiment
from .inspection.inspection import Inspection
from .making import make_experiment
from .run.agenda import Agenda
from .run.checkpoints import Checkpoint, save_checkpoint
from .run.restoring import restoring
from .run.telemetry import Report, Telemetry


def train(
    config: TrainConfig,
    metrics: MetricsWriter,
    checkpoint_folder: Path,
    *,
    resume_from: Checkpoint | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    take_request: TakeRequest = lambda _: False,
    report: Report = lambda *_: None,
) -> bool:
    """Train to `config.total_env_steps`, or until `should_stop`. It is asked between iterations, as
    is `take_request`. The run's folder is the one that `checkpoint_folder` is in.

    Publishes to `metrics` and tells `report` the same. Ends with a checkpoint either way; returns
    whether the run is complete.
    """
    metrics.phase("compiling")
    with closing(make_experiment(config, partial(metrics.phase, "compiling"))) as experiment:
        if resume_from:
            metrics.phase("restoring")
            with restoring(resume_from.state, experiment.state_dict):
                experiment.load_state_dict(resume_from.state, resume_from.iteration)
        agenda = Agenda(config, experiment, take_request)
        telemetry = Telemetry(
            metrics, config.num_iterations * config.rollout_size, experiment, report=report,
            num_pauses=agenda.num_pauses_left(),
            average_before=metrics.latest(AVERAGE_ENV_STEPS_PER_S),
        )  # fmt: skip
        experiment.on_tick(telemetry.tick)
        telemetry.stopwatch.is_compiling = partial(is_compiling, experiment, experiment.iteration)
        tell_notices(experiment, telemetry)
        inspection = Inspection(experiment, checkpoint_folder.parent, telemetry)
        saved_at = experiment.iteration if resume_from else None

        while not experiment.is_complete and not should_stop():
            due = agenda.of_next_iteration()
            wait = due.anything or inspection.wants_next
            with inspection.tracing(due.trace):
                finished = experiment.iterate(telemetry.stopwatch, wait)
            for values in finished:
                if due.anything and experiment.is_idle:
                    values |= inspection.values(due)
                    if due.evaluation:
                        values |= evaluation_values(evaluated(experiment, telemetry))
                telemetry.iteration(values)
            tell_notices(experiment, telemetry)
            inspection.after(due)
            if due.checkpoint:
                with telemetry.errors_as_events(OSError):
                    save(experiment, metrics, checkpoint_folder, telemetry)
                    saved_at = experiment.iteration
        for values in experiment.finish():
            telemetry.iteration(values)

        if saved_at != experiment.iteration:
            save(experiment, metrics, checkpoint_folder, telemetry)
        return experiment.is_complete


def tell_notices(experiment: Experiment, telemetry: Telemetry) -> None:
    for notice in experiment.take_notices():
        telemetry.event("info", notice)


def is_compiling(experiment: Experiment, first: int) -> bool:
    """Whether iteration `first` + 1 still waits for the machine code of its loops."""
    return experiment.iteration == first and not all(loop.signatures for loop in experiment.loops)


def save(
    experiment: Experiment, metrics: MetricsWriter, folder: Path, telemetry: Telemetry
) -> None:
    """Write a checkpoint of this moment. Raises OSError when the disk does not take it."""
    with telemetry.stopwatch.phase("checkpoint"):
        checkpoint = Checkpoint(
            iteration=experiment.iteration,
            env_steps=experiment.env_steps,
            publish=metrics.num_publishes,
            config=experiment.config.model_dump(mode="json"),
            state=experiment.state_dict(),
        )
        path = save_checkpoint(folder, checkpoint, experiment.config.checkpoint.keep)
    telemetry.event("info", f"checkpoint: {path.name}")


def evaluated(experiment: Experiment, telemetry: Telemetry) -> Evaluation:
    """Greedy episodes with the policy as it is now; tells what came of them."""
    with telemetry.stopwatch.phase("evaluate"):
        num_episodes = experiment.config.evaluation.num_episodes
        evaluation = experiment.evaluate(num_episodes, telemetry.progress)
    report_evaluation(evaluation, experiment.config, telemetry)
    return evaluation


def report_evaluation(evaluation: Evaluation, config: TrainConfig, telemetry: Telemetry) -> None:
    telemetry.event("info", f"evaluation: mean return {evaluation.returns.mean():.1f}")
    if evaluation.num_cut_off:
        limit = config.evaluation.max_episode_steps
        telemetry.event("warning", cut_off_message(evaluation, limit))


def evaluation_values(evaluation: Evaluation) -> dict[str, float]:
    return {
        "evaluation/return": float(evaluation.returns.mean()),
        "evaluation/length": float(evaluation.lengths.mean()),
        **evaluation.details,
    }
