"""Stops training in good order: between iterations, or within one that may be left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..experiment.experiment import Experiment
from .callbacks import EXITS, Callbacks
from .signals import Requests


class IterationLeftError(Exception):
    """Leaves an iteration or an evaluation, because a stop was requested."""


class Stopping:
    """Whether training should stop: signals or callbacks request it, or an environment exits."""

    def __init__(self, experiment: Experiment, requests: Requests, callbacks: Callbacks) -> None:
        self._experiment, self._requests, self._callbacks = experiment, requests, callbacks
        self._exit: BaseException | None = None  # by which an environment ended the program

    @property
    def is_due(self) -> bool:
        """Whether training should stop before the next iteration."""
        return bool(self._exit or self._requests.stop or self._callbacks.end_training)

    def check(self) -> None:
        """Called between pieces of work. Raises IterationLeftError if a stop was requested and the
        iteration may be left.
        """
        if self._experiment.may_be_left and self._requests.stop:
            raise IterationLeftError

    def check_evaluation(self) -> None:
        """Raises IterationLeftError if a stop was requested: every evaluation may be left."""
        if self._requests.stop:
            raise IterationLeftError

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Wraps an iteration, which ends here if it is left. An exit of an environment that a
        checkpoint can be saved after becomes a stop; `raise_exit` raises it later.
        """
        experiment, former = self._experiment, self._experiment.iteration
        try:
            yield
        except IterationLeftError:
            pass
        except EXITS as error:
            is_between = experiment.is_idle and experiment.iteration > former
            if self._requests.stop or not (experiment.may_be_left or is_between):
                raise
            self._exit = error

    def raise_exit(self) -> None:
        """Raises the exit of an environment, after the last checkpoint."""
        if self._exit:
            raise self._exit
