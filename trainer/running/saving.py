"""Saves checkpoints while training goes on."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from ...shared import MetricsWriter
from ...shared.errors import CheckpointError
from ..experiment.checkpoints import Checkpoint, save_checkpoint, write_checkpoint
from ..experiment.experiment import Experiment
from ..experiment.intervals import Due
from ..experiment.trained_policy import copy_of_policy
from .callbacks import Callbacks
from .step import Step
from .telemetry import Telemetry


class Saving(Step):
    """Copies the state of a run and writes the copy from a thread: the disk may be slow, and a
    replay is large. One checkpoint is written at a time; the next waits for it.
    """

    def __init__(
        self,
        experiment: Experiment,
        metrics: MetricsWriter,
        folder: Path,
        telemetry: Telemetry,
        callbacks: Callbacks,
        saved_at: int | None,
    ) -> None:
        """`saved_at` is the iteration of the newest checkpoint; None if there is none."""
        self.folder = folder
        self._experiment, self._metrics, self._telemetry = experiment, metrics, telemetry
        self._callbacks, self._keep = callbacks, experiment.config.checkpoint.keep
        self._saved_at = saved_at
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._under_way: tuple[int, Future[Path]] | None = None  # with its iteration

    def after(self, row: dict[str, float], due: Due) -> None:
        """Begin to write a checkpoint if it is `due`, once the one before is written."""
        self._finish(wait=False)
        if due.checkpoint:
            with self._telemetry.stopwatch.phase("checkpoint"):
                self._finish(wait=True)
                checkpoint = self._checkpoint(copied_state(self._experiment.state_dict()))
                written = self._thread.submit(save_checkpoint, self.folder, checkpoint, self._keep)
                self._under_way = checkpoint.iteration, written

    def end(self) -> None:
        """Write the last checkpoint unless there is one of this iteration. Raises CheckpointError
        if the disk does not take it.
        """
        self._finish(wait=True)
        iteration = self._experiment.iteration
        is_needed = self._saved_at != iteration or self._experiment.is_amid_updates
        if self._experiment.agreed(False, is_needed).checkpoint:
            with self._telemetry.stopwatch.phase("checkpoint"):
                self._write(self._checkpoint(self._experiment.state_dict()))

    def close(self) -> None:
        """Wait for the checkpoint under way: it is written and announced, whatever ends the run."""
        self._finish(wait=True)
        self._thread.shutdown()

    def keep_policy(self, name: str, values: Mapping[str, float]) -> Path:
        """Write the policy and the metrics `values` as NAME.pt, now: to load it, not to resume. It
        is never deleted.
        """
        experiment, path = self._experiment, self.folder / f"{name}.pt"
        with self._telemetry.stopwatch.phase("checkpoint"):
            copied = copy_of_policy(experiment.policy, experiment.config, experiment.iteration)
            state = {"policy": copied.policy.state_dict(), "metrics": dict(values)}
            write_checkpoint(path, self._checkpoint(state))
        return path

    def _checkpoint(self, state: Mapping[str, Any]) -> Checkpoint:
        return Checkpoint(
            iteration=self._experiment.iteration,
            env_steps=self._experiment.env_steps,
            publish=self._metrics.num_publishes,
            config=self._experiment.config.model_dump(mode="json"),
            state=state,
        )

    def _finish(self, *, wait: bool) -> None:
        """Announce the checkpoint under way once it is written, or say why it could not be."""
        if self._under_way is None or not (wait or self._under_way[1].done()):
            return
        (iteration, written), self._under_way = self._under_way, None
        with self._telemetry.errors_as_events(OSError):
            self._announce(written.result(), iteration)

    def _write(self, checkpoint: Checkpoint) -> None:
        try:
            path = save_checkpoint(self.folder, checkpoint, self._keep)
        except OSError as error:
            newest = (
                f"the newest is that of {self._saved_at}" if self._saved_at else "there is none"
            )
            raise CheckpointError(
                f"no checkpoint of iteration {checkpoint.iteration} in {self.folder}: "
                f"{error.strerror or error}; {newest}"
            ) from None
        self._announce(path, checkpoint.iteration)

    def _announce(self, path: Path, iteration: int) -> None:
        self._saved_at = iteration
        self._telemetry.event("debug", f"checkpoint: {path.name}")
        self._callbacks.checkpoint(path)


def copied_state(state: Any) -> Any:
    """A nested state as it is now; the tensors of the former go on changing as training does."""
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, Mapping):
        return {key: copied_state(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(copied_state(value) for value in state)
    return state
