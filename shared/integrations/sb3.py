"""A callback that publishes the logs of a Stable-Baselines3 algorithm."""

from __future__ import annotations

from typing import Any

from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter

from ..runs.status import ETA_S, PROGRESS_FRACTION
from .begin import open_or_begin, script_name
from .logged_run import LoggedRun
from .never_raising import never_raises

# Metrics that have one name in all runs, so that lists of runs can show them.
_NAMES = {"rollout/ep_rew_mean": "episode/return", "rollout/ep_len_mean": "episode/length"}


class SB3Callback(BaseCallback):
    """Publishes whenever the algorithm logs, with `num_timesteps` as env steps. Logs into the run
    that `operant.init` began, else into a new one, which ends with the process or `run.finish()`.

    `rollout/ep_rew_mean` and `ep_len_mean` become `episode/return` and `episode/length`. The group
    `time/` is left out: every page has the speed, the iteration and the times.
    """

    def __init__(self, name: str | None = None, verbose: int = 0) -> None:
        """`name` is the name of a new run, by default the algorithm's and the script's."""
        super().__init__(verbose)
        self.run: LoggedRun | None = None
        self._name = name
        self.total_timesteps = 0

    @never_raises()
    def publish(self, key_values: dict[str, Any], step: int) -> None:
        """Log the values that the algorithm's logger writes at `step`."""
        assert self.run
        values = {
            _NAMES.get(key, key): value
            for key, value in key_values.items()
            if not key.startswith("time/")
        }
        if self.total_timesteps:
            values[PROGRESS_FRACTION] = min(1.0, step / self.total_timesteps)
            if fps := key_values.get("time/fps"):
                values[ETA_S] = max(0, self.total_timesteps - step) / fps
        self.run.log(values, step, commit=True)

    def _on_training_start(self) -> None:
        name = self._name or f"{type(self.model).__name__.lower()}-{script_name()}"
        self.run = open_or_begin(self.run, name)
        self.total_timesteps = int(self.locals.get("total_timesteps", 0))
        self._note_settings()
        # `learn` may have created a new logger.
        formats = self.logger.output_formats
        if not any(isinstance(f, _PageFormat) and f.callback is self for f in formats):
            formats.append(_PageFormat(self))

    @never_raises()
    def _note_settings(self) -> None:
        assert self.run
        settings = {
            key: value
            for key, value in vars(self.model).items()
            if isinstance(value, bool | int | float | str) and not key.startswith("_")
        }
        self.run.config.update({"algorithm": type(self.model).__name__, **settings})

    def _warn_once(self, key: str, text: str) -> None:
        if self.run:
            self.run.warn_once(key, text)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        # The logger has not written the values of the last update yet.
        self.publish(self.logger.name_to_value, self.num_timesteps)


class _PageFormat(KVWriter):
    """An output format of SB3's logger that publishes."""

    def __init__(self, callback: SB3Callback) -> None:
        self.callback = callback

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:
        self.callback.publish(key_values, step)

    def close(self) -> None:
        pass
