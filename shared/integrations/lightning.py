"""A logger for Lightning's Trainer, of `lightning` or `pytorch_lightning`."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import process_end
from .begin import open_or_begin, script_name
from .logged_run import LoggedRun
from .process_end import BY_SIGTERM, ending_of
from .values import as_mapping


def _is_older_name_in_use() -> bool:
    """Whether to use `pytorch_lightning`: both may be installed, and a Trainer wants a logger of
    its own package.
    """
    return "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules


if TYPE_CHECKING:
    from lightning.fabric.loggers.logger import rank_zero_experiment
    from lightning.pytorch.loggers.logger import Logger
    from lightning.pytorch.utilities import rank_zero_only
    from lightning.pytorch.utilities.exceptions import SIGTERMException
else:
    try:
        if _is_older_name_in_use():
            raise ModuleNotFoundError
        from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
        from lightning.pytorch.utilities import rank_zero_only
        from lightning.pytorch.utilities.exceptions import SIGTERMException
    except ModuleNotFoundError:
        from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
        from pytorch_lightning.utilities import rank_zero_only
        from pytorch_lightning.utilities.exceptions import SIGTERMException


class LightningLogger(Logger):
    """Publishes the values that a LightningModule logs, with the Trainer's step as env steps, on
    rank 0. Logs into the run that `operant.init` began, else into a new one, which ends with the
    process, by `logger.experiment.finish()`, or when the Trainer fails.
    """

    def __init__(self, name: str | None = None, config: Any = None) -> None:
        """`name` is the name of a new run, by default the script's. `config` is a dict, a namespace
        or a dataclass; hyperparameters that a module saves are added to it.
        """
        super().__init__()
        self._name, self._config = name or script_name(), as_mapping(config)
        self._run: LoggedRun | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        """The run's id; empty on other ranks than 0."""
        return self._run.id if self._run else ""

    @property
    @rank_zero_experiment
    def experiment(self) -> LoggedRun:
        """The run, begun at its first use."""
        if self._run is None or not self._run.is_open:
            self._run = open_or_begin(None, self._name)
            self._run.config.update(self._config)
            process_end.leave_sigterm()  # the Trainer finishes its batch first
        return self._run

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        self.experiment.log(metrics, step)

    @rank_zero_only
    def log_hyperparams(
        self, params: dict[str, Any] | Namespace, *arguments: Any, **keywords: Any
    ) -> None:
        self.experiment.config.update(params)

    @rank_zero_only
    def save(self) -> None:
        if self._run:
            self._run.flush()

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """End the run if the Trainer failed; after a success more may be tested or trained."""
        if self._run is None:
            return
        self._run.flush()
        error = sys.exc_info()[1]
        if status == "failed":
            is_sigterm = isinstance(error, SIGTERMException)
            self._run.end(BY_SIGTERM if is_sigterm else ending_of(error or SystemExit(1)))
