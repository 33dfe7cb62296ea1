"""The main loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..shared import MetricsWriter
from ..shared.status import AVERAGE_ENV_STEPS_PER_S
from .checkpoints import Checkpoint, restoring, save_checkpoint
from .config import TrainConfig
from .device import chosen_device
from .envs import GYMNASIUM_PREFIX, LEARNED_ENV_NAMES
from .evaluation import Evaluation, Progress, cut_off_message
from .experiment import Experiment, choose_num_threads
from .telemetry import Report, Telemetry
from .threads import Threads

if TYPE_CHECKING:
    from .cuda.experiment import CudaExperiment
    from .tinyphysics.experiment import TinyPhysicsExperiment


def train(
    config: TrainConfig,
    metrics: MetricsWriter,
    checkpoint_folder: Path,
    *,
    resume_from: Checkpoint | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    wants_checkpoint: Callable[[], bool] = lambda: False,
    report: Report = lambda *_: None,
) -> bool:
    """Train to `config.total_env_steps`, or until `should_stop`. It is asked between iterations, as
    is `wants_checkpoint`, which is done with once it has said so.

    Publishes to `metrics` and tells `report` the same. Ends with a checkpoint either way; returns
    whether the run is complete.
    """
    metrics.phase("compiling")
    with closing(make_experiment(config, partial(metrics.phase, "compiling"))) as experiment:
        if resume_from:
            metrics.phase("restoring")
            with restoring("the run's state"):
                experiment.load_state_dict(resume_from.state, resume_from.iteration)
        telemetry = Telemetry(
            metrics,
            config.num_iterations * config.rollout_size,
            experiment,
            report=report,
            num_pauses=num_pauses_left(config, experiment.iteration),
            average_before=metrics.latest(AVERAGE_ENV_STEPS_PER_S),
        )
        experiment.on_tick(telemetry.tick)
        phase = telemetry.stopwatch.phase
        telemetry.stopwatch.is_compiling = partial(is_compiling, experiment, experiment.iteration)
        if experiment.why_pytorch:
            telemetry.event("info", f"PyTorch collects and learns because {experiment.why_pytorch}")
        saved_at = experiment.iteration if resume_from else None

        while experiment.num_started < config.num_iterations and not should_stop():
            number = experiment.num_started + 1
            asked = wants_checkpoint()
            looks = asked or evaluation_due(config, number) or checkpoint_due(config, number)
            for values in experiment.iterate(telemetry.stopwatch, wait=looks):
                if evaluation_due(config, experiment.iteration):
                    with phase("evaluate"):
                        num_episodes = config.evaluation.num_episodes
                        evaluation = experiment.evaluate(num_episodes, telemetry.progress)
                    values |= evaluation_values(evaluation)
                    report_evaluation(evaluation, config, telemetry)
                telemetry.iteration(values)
                for notice in experiment.take_notices():
                    telemetry.event("info", notice)
                is_asked = asked and experiment.iteration == number
                if is_asked or checkpoint_due(config, experiment.iteration):
                    with phase("checkpoint"), telemetry.errors_as_events(OSError):
                        save(experiment, metrics, checkpoint_folder, telemetry)
                        saved_at = experiment.iteration
        for values in experiment.finish():
            telemetry.iteration(values)

        if saved_at != experiment.iteration:
            with phase("checkpoint"):
                save(experiment, metrics, checkpoint_folder, telemetry)
    return experiment.iteration >= config.num_iterations


def make_experiment(
    config: TrainConfig, compiling: Progress = lambda *_: None
) -> Experiment | CudaExperiment | TinyPhysicsExperiment:
    """The experiment of a configuration on its device. Raises ConfigError where there is none.

    `compiling` is told how many of its loops are ready.
    """
    device = chosen_device(config.device)
    if config.env in LEARNED_ENV_NAMES:
        from .tinyphysics.experiment import TinyPhysicsExperiment  # only here ONNX is needed

        return TinyPhysicsExperiment(config, Threads(choose_num_threads(config)))
    # Gymnasium's environments live on the processor, and so does what learns from them.
    if device.type == "cuda" and not config.env.startswith(GYMNASIUM_PREFIX):
        from .cuda.experiment import CudaExperiment  # only here numba-cuda is needed

        return CudaExperiment(config, device)
    return Experiment(config, Threads(choose_num_threads(config, compiling)))


def is_compiling(
    experiment: Experiment | CudaExperiment | TinyPhysicsExperiment, first: int
) -> bool:
    """Whether iteration `first` + 1 still waits for the machine code of its loops."""
    if experiment.iteration > first or not isinstance(experiment, Experiment):
        return False
    return not all(loop.signatures for loop in experiment.loops)


def save(
    experiment: Experiment | CudaExperiment | TinyPhysicsExperiment,
    metrics: MetricsWriter,
    folder: Path,
    telemetry: Telemetry,
) -> None:
    """Write a checkpoint of this moment. Raises OSError when the disk does not take it."""
    checkpoint = Checkpoint(
        iteration=experiment.iteration,
        env_steps=experiment.env_steps,
        publish=metrics.num_publishes,
        config=experiment.config.model_dump(mode="json"),
        state=experiment.state_dict(),
    )
    path = save_checkpoint(folder, checkpoint, experiment.config.checkpoint.keep)
    telemetry.event("info", f"checkpoint: {path.name}")


def evaluation_due(config: TrainConfig, iteration: int) -> bool:
    """Every so many iterations, and at the end."""
    every = config.evaluation.every_iterations
    is_due = iteration == config.num_iterations or (every > 0 and iteration % every == 0)
    return is_due and config.evaluation.num_episodes > 0


def checkpoint_due(config: TrainConfig, iteration: int) -> bool:
    every = config.checkpoint.every_iterations
    return every > 0 and iteration % every == 0


def num_pauses_left(config: TrainConfig, iteration: int) -> dict[str, int]:
    """How many evaluations and checkpoints come after `iteration`, by the stopwatch's names."""
    last = config.num_iterations

    def num_left(every: int) -> int:
        """One at every multiple, and one at the end."""
        if iteration >= last:
            return 0
        return (last // every - iteration // every + (last % every > 0)) if every > 0 else 1

    evaluations = num_left(config.evaluation.every_iterations)
    return {
        "evaluate": evaluations if config.evaluation.num_episodes else 0,
        "checkpoint": num_left(config.checkpoint.every_iterations),
    }


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
