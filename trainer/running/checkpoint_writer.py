"""Checkpoints are written while training goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ...shared.errors import CheckpointError
from ..experiment.checkpoints import Checkpoint, save_checkpoint, write_checkpoint
from .telemetry import Telemetry


class CheckpointWriter:
    """Copies a moment of a run and writes the copy from a thread: the disk may be slow, and a
    replay is large. One is written at a time; the next waits for it.
    """

    def __init__(
        self,
        folder: Path,
        keep: int,
        telemetry: Telemetry,
        saved_at: int | None,
        on_written: Callable[[Path], None] = lambda _: None,
    ) -> None:
        """`saved_at` is the iteration of the checkpoint that the run began with."""
        self._on_written = on_written
        self._folder, self._keep, self._telemetry = folder, keep, telemetry
        self._saved_at = saved_at
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._under_way: Future[Path] | None = None
        self._iteration = 0  # of the one under way

    def begin(self, checkpoint: Checkpoint) -> None:
        """Write it, once the one before is written."""
        self.tell(wait=True)
        copied = replace(checkpoint, state=copied_state(checkpoint.state))
        self._iteration = checkpoint.iteration
        self._under_way = self._thread.submit(save_checkpoint, self._folder, copied, self._keep)

    def tell(self, *, wait: bool = False) -> None:
        """Say by an event that the one under way is written, or why it could not be."""
        under_way = self._under_way
        if under_way is None or not (wait or under_way.done()):
            return
        self._under_way = None
        path = None
        with self._telemetry.errors_as_events(OSError):
            path = under_way.result()
        if path:
            self._written(path, self._iteration)

    def needs(self, iteration: int) -> bool:
        """Whether there is no checkpoint of that iteration; waits for the one under way."""
        self.tell(wait=True)
        return self._saved_at != iteration

    def write(self, checkpoint: Checkpoint) -> None:
        """Write it now. Raises CheckpointError when the disk does not take it."""
        self.tell(wait=True)
        try:
            path = save_checkpoint(self._folder, checkpoint, self._keep)
        except OSError as error:
            newest = (
                f"the newest is that of {self._saved_at}" if self._saved_at else "there is none"
            )
            raise CheckpointError(
                f"no checkpoint of iteration {checkpoint.iteration} in {self._folder}: "
                f"{error.strerror or error}; {newest}"
            ) from None
        self._written(path, checkpoint.iteration)

    def close(self) -> None:
        """Wait for the one under way: it is written and announced, whatever ends the run."""
        self.tell(wait=True)
        self._thread.shutdown()

    def _written(self, path: Path, iteration: int) -> None:
        self._saved_at = iteration
        self._telemetry.event("debug", f"checkpoint: {path.name}")
        self._on_written(path)

    def keep_policy(self, name: str, checkpoint: Checkpoint) -> Path:
        """Write what the state has as NAME.pt, now, which is never deleted."""
        path = self._folder / f"{name}.pt"
        with self._telemetry.stopwatch.phase("checkpoint"):
            write_checkpoint(path, checkpoint)
        return path


def copied_state(state: Any) -> Any:
    """A nested state as it is now; the tensors of the former go on changing as training does."""
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, Mapping):
        return {key: copied_state(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(copied_state(value) for value in state)
    return state
