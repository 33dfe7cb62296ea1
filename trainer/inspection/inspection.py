"""What a run is looked at for on its way, by what is due."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ...shared.run_folder import Run
from ...shared.small_file import open_to_append
from ..experiment import Experiment
from ..run.agenda import Due
from ..run.telemetry import Telemetry
from .gradients import gradient_statistics
from .tracing import Tracer
from .weights import analysed


class Inspection:
    """Looks at an `experiment` between iterations, with files in `run_folder`."""

    def __init__(self, experiment: Experiment, run_folder: Path, telemetry: Telemetry) -> None:
        self._experiment, self._run, self._telemetry = experiment, Run(run_folder), telemetry
        keep = experiment.config.trace.keep
        self._tracer = Tracer(experiment.executor, self._run.trace_folder, keep)

    def tracing(self, is_due: bool) -> AbstractContextManager[None]:
        """Around the next iteration, which is traced where that is due or was asked for."""
        if is_due:
            self._tracer.ask()
        return self._tracer.iteration()

    @property
    def wants_next(self) -> bool:
        """Whether the next iteration must be over before anything else is done."""
        return self._tracer.wants_next

    def values(self, due: Due) -> dict[str, float]:
        """Metrics of the iteration that is just over; waits for the device."""
        values: dict[str, float] = {}
        if due.gradients:
            optimizers = self._experiment.algorithm.optimizers
            taken = [optimizer.gradient for optimizer in optimizers]
            values |= gradient_statistics([gradient for gradient in taken if gradient is not None])
        if due.weights:
            values |= self._weights()
        return values

    def after(self, due: Due) -> None:
        """Tell of traces, and record an episode."""
        for notice in self._tracer.take_notices():
            self._telemetry.event("info", notice)
        if due.episodes:
            from .episode import EpisodeRecorder  # only here drawings are needed

            recorder = EpisodeRecorder(self._experiment.config, self._run.episode_folder)
            # An environment that cannot be drawn, whatever it raises, or a full disk, is no reason
            # not to train.
            with self._telemetry.errors_as_events(Exception, what="no episode"):
                with self._telemetry.stopwatch.phase("evaluate"):
                    path = recorder.record(self._experiment.policy, self._experiment.iteration)
                self._telemetry.event("info", f"episode: {path.name}")

    def _weights(self) -> dict[str, float]:
        experiment = self._experiment
        policy: Any = experiment.policy
        metrics, layers = analysed(dict(policy.named_parameters()))
        line = {"iteration": experiment.iteration, "env_steps": experiment.env_steps, **metrics}
        with (
            self._telemetry.errors_as_events(OSError, what="no line of weights.jsonl"),
            os.fdopen(open_to_append(self._run.weights_path), "a") as file,
        ):
            file.write(json.dumps({**line, "layers": layers}) + "\n")
        return metrics
