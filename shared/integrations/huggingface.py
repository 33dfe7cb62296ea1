"""A callback that publishes what Hugging Face's Trainer logs."""

from __future__ import annotations

from typing import Any

import transformers

from ..runs.status import PROGRESS_FRACTION
from .begin import open_or_begin, script_name
from .logged_run import LoggedRun


class TrainerCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """Publishes the Trainer's logs, with its global step as env steps, on the first process. Logs
    into the run that `operant.init` began, else into a new one, which ends with the process or
    `callback.run.finish()`. Names become `train/loss`, `eval/loss`, `test/loss`.
    """

    def __init__(self, name: str | None = None) -> None:
        """`name` is the name of a new run, by default the script's."""
        self.run: LoggedRun | None = None
        self._name = name

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **_: Any
    ) -> None:
        """Begin the run, with the settings of the Trainer and of the model as its configuration."""
        if state.is_world_process_zero:
            run = self._open()
            run.config.update(getattr(model, "config", None))
            run.config.update(args)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        if not state.is_world_process_zero or not logs:
            return
        values = {_renamed(name): value for name, value in logs.items()}
        if state.max_steps:
            values[PROGRESS_FRACTION] = min(1.0, state.global_step / state.max_steps)
        self._open().log(values, state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Publish the pending row. The run continues: more may be evaluated or trained."""
        if self.run:
            self.run.flush()

    def _open(self) -> LoggedRun:
        self.run = open_or_begin(self.run, self._name or script_name())
        return self.run


def _renamed(name: str) -> str:
    for group in ("eval", "test"):
        if name.startswith(f"{group}_"):
            return f"{group}/{name.removeprefix(f'{group}_')}"
    return f"train/{name}"
