"""Inspects a run on its way: gradients, weights, traces, and episodes."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ....shared.episodes.episode_file import write_moments
from ....shared.episodes.scene import Episodes, Moment
from ....shared.runs.owners import make_private_folder
from ....shared.runs.run_folder import EPISODE_ENDING, Run
from ....shared.runs.small_file import open_to_append, written_whole
from ...config import TrainConfig
from ...experiment.experiment import Experiment
from ...experiment.intervals import Due
from ...experiment.trained_policy import TrainedPolicy
from ...experiment.untrained import make_policy
from ...playing import make_episodes
from ..step import Step
from .tracing import Tracer, delete_old

if TYPE_CHECKING:
    from ..telemetry import Telemetry

EPISODES_KEPT = 20
MOST_EPISODE_STEPS = 1000  # of a recorded episode

Layers = dict[str, dict[str, float]]


def analysed(parameters: Mapping[str, Tensor]) -> tuple[dict[str, float], Layers]:
    """Metrics of all parameters, and by name of every matrix its largest and smallest singular
    value, its norm, and its effective rank. Waits for the device.
    """
    layers = {
        name: layer_statistics(tensor)
        for name, tensor in parameters.items()
        if tensor.ndim >= 2 and tensor.numel()
    }
    squares = sum(float(p.detach().double().square().sum()) for p in parameters.values())
    metrics = {"weights/norm": math.sqrt(squares)}
    if layers:
        values = layers.values()
        metrics["weights/largest_singular_value"] = max(x["largest_singular_value"] for x in values)
        metrics["weights/lowest_rank_fraction"] = min(x["rank_fraction"] for x in values)
    return metrics, layers


def layer_statistics(weights: Tensor) -> dict[str, float]:
    """Statistics of a layer's weights [outputs, ...inputs], as a matrix."""
    matrix = weights.detach().to("cpu", torch.float64).flatten(1)
    if not matrix.isfinite().all():
        return dict.fromkeys(
            ("largest_singular_value", "smallest_singular_value", "norm", "effective_rank",
             "rank_fraction"), math.nan,
        )  # fmt: skip
    singular: Any = torch.linalg.svdvals(matrix)
    rank = effective_rank(singular)
    return {
        "largest_singular_value": float(singular.max()),
        "smallest_singular_value": float(singular.min()),
        "norm": float(singular.norm()),
        "effective_rank": rank,
        "rank_fraction": rank / len(singular),
    }


def effective_rank(singular_values: Tensor) -> float:
    """exp(H(p)) with p_i = s_i / sum s: from 1 to the number of values; 0 where all are 0.

    Source: Roy and Vetterli 2007, "The effective rank: a measure of effective dimensionality".
    """
    total = float(singular_values.sum())
    if not total:
        return 0.0
    shares = singular_values / total
    return float(torch.special.entr(shares).sum().exp())


def gradient_statistics(gradients: Sequence[Tensor]) -> dict[str, float]:
    """Mean, variance (over the count, not one less) and norm of all numbers of `gradients`; nothing
    where there are none yet. Waits for the device.
    """
    if not gradients:
        return {}
    every = torch.cat([gradient.detach().flatten() for gradient in gradients]).double()
    mean = every.mean()
    figures = {"mean": mean, "variance": (every - mean).square().mean(), "norm": every.norm()}
    return {f"gradient/{name}": float(figure) for name, figure in figures.items()}


class Inspection(Step):
    """Looks at an `experiment` between iterations, with files in `run_folder`."""

    def __init__(self, experiment: Experiment, run_folder: Path, telemetry: Telemetry) -> None:
        self._experiment, self._run, self._telemetry = experiment, Run(run_folder), telemetry
        self._tracer = Tracer(experiment.executor, self._run.trace_folder)

    @property
    def waits(self) -> bool:
        """Whether the next iteration is traced."""
        return self._tracer.is_tracing

    def before(self, due: Due) -> None:
        """Trace the next iteration if that is due."""
        if due.trace:
            self._tracer.ask()
        self._tracer.begin()

    def after(self, row: dict[str, float], due: Due) -> None:
        """End the trace, add metrics of gradients and weights, which wait for the device, and
        record an episode.
        """
        if notice := self._tracer.finish():
            self._telemetry.event("info", notice)
        if due.gradients:
            optimizers = self._experiment.algorithm.optimizers
            taken = [optimizer.gradient for optimizer in optimizers]
            row |= gradient_statistics([gradient for gradient in taken if gradient is not None])
        if due.weights:
            row |= self._weights()
        if due.episodes:
            recorder = EpisodeRecorder(self._experiment.config, self._run.episode_folder)
            # An environment that cannot be drawn, whatever it raises, or a full disk, is no reason
            # not to train.
            with self._telemetry.errors_as_events(Exception, what="no episode"):
                with self._telemetry.stopwatch.phase("evaluate"):
                    path = recorder.record(self._experiment.policy, self._experiment.iteration)
                self._telemetry.event("debug", f"episode: {path.name}")

    def close(self) -> None:
        """End a trace that is under way, without a file."""
        self._tracer.stop()

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


class EpisodeRecorder:
    """Plays the first greedy episode of the run's seed with copies of the policy, on the processor,
    and writes it as a file that `operant play` shows.
    """

    def __init__(self, config: TrainConfig, folder: Path) -> None:
        self._config, self._folder = config, folder

    def record(self, policy: Any, iteration: int) -> Path:
        """Write the episode that `policy` plays now. Waits for the device. Raises OSError."""
        copied: Any = make_policy(self._config)
        copied.load_state_dict({name: x.cpu() for name, x in policy.state_dict().items()})
        episodes = make_episodes(TrainedPolicy(copied, self._config, iteration))
        path = self._folder / f"iteration-{iteration:09d}{EPISODE_ENDING}"
        make_private_folder(self._folder, parents=False)
        with closing(episodes), written_whole(path, outlives_power_cut=False) as file:
            write_moments(file, episodes.env, episodes.seed, self._moments(episodes))
        delete_old(self._folder, f"*{EPISODE_ENDING}", EPISODES_KEPT)
        return path

    def _moments(self, episodes: Episodes) -> Iterator[Moment]:
        episodes.begin(episodes.seed, 0)
        yield episodes.moment(0)
        for _ in range(MOST_EPISODE_STEPS):
            is_over = episodes.step()
            yield episodes.moment(0)
            if is_over:
                break
