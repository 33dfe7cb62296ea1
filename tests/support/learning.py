"""Experiments, an iteration at a time."""

from __future__ import annotations

from operant.trainer.experiment import Experiment
from operant.trainer.rollout import Rollout
from operant.trainer.run.stopwatch import Stopwatch


def iterate(experiment: Experiment, count: int = 1) -> dict[str, float]:
    """So many iterations; returns the metrics of the last."""
    values: dict[str, float] = {}
    for _ in range(count):
        values = list(experiment.iterate(Stopwatch(), wait=True))[-1]
    return values


def learn(experiment: Experiment) -> dict[str, float]:
    """An iteration from the rollout as it is; returns its metrics."""
    steps = experiment.executor.iterate(lambda: None, experiment.learn, Stopwatch(), wait=True)
    return list(steps)[-1]


def collected(experiment: Experiment) -> Rollout:
    """A rollout with its values."""
    rollout = experiment.collect()
    if not rollout.has_values:
        experiment.algorithm.evaluate(rollout)
    return rollout
