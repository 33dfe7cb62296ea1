"""Evaluates the policy of a run on its way, and at its end."""

from __future__ import annotations

from ...shared.text.short_numbers import short_number
from ..experiment.evaluation import cut_off_message
from ..experiment.experiment import Experiment
from ..experiment.intervals import Due
from .step import Step
from .stopping import IterationLeftError, Stopping
from .telemetry import Telemetry


class Evaluating(Step):
    """Plays greedy episodes where an evaluation is due, and at the end of training."""

    def __init__(self, experiment: Experiment, telemetry: Telemetry, stopping: Stopping) -> None:
        self._experiment, self._telemetry, self._stopping = experiment, telemetry, stopping

    def after(self, row: dict[str, float], due: Due) -> None:
        if due.evaluation or (due.is_last and self._experiment.is_complete):
            row |= self._metrics()

    def _metrics(self) -> dict[str, float]:
        """Metrics of greedy episodes; empty if a stop is requested meanwhile: they can be long."""
        config, telemetry = self._experiment.config.evaluation, self._telemetry
        if not config.num_episodes:
            return {}
        try:
            with telemetry.stopwatch.phase("evaluate"):
                evaluation = self._experiment.evaluate(config.num_episodes, self._progress)
        except IterationLeftError:
            telemetry.event("info", "the evaluation was skipped because the run is stopping")
            return {}
        text = f"{short_number(evaluation.mean)} mean return of the evaluation"
        telemetry.event("info", text)
        if evaluation.num_cut_off:
            telemetry.event("warning", cut_off_message(evaluation, config.max_episode_steps))
        return evaluation.metrics

    def _progress(self, done: int, total: int, unit: str) -> None:
        self._stopping.check_evaluation()
        self._telemetry.progress(done, total, unit)
