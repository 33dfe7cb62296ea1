"""The settings of a run's recorder, and starting it as a process of its own."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..install_command import install_command
from ..processes.host import process_start
from ..processes.lock import RECORDER, lock_holder
from ..processes.python_program import python_program
from .small_file import open_to_append

if TYPE_CHECKING:
    from .run_folder import Run

SWITCH = "OPERANT_RECORDER"  # "off" in the environment: no process starts a recorder

# The sinks that can also receive rows, and their packages; the extra has the sink's name.
SINK_PACKAGES = {
    "tensorboard": "tensorboard",
    "prometheus": "prometheus_client",
    "wandb": "wandb",
}
START_PATIENCE_S = 10.0
WAIT_S = 2.0  # for the recorder of a run that ends
CHECK_EVERY_S = 0.005

# The shell prints the recorder's pid and ends at once: the recorder is no child of this process, so
# a caller that waits for its own children does not wait for it.
_START = '"$@" >&2 & echo $!'


@dataclass(frozen=True)
class RecorderSettings:
    """`to` names sinks, `alerts` are rules as text."""

    to: tuple[str, ...] = ()
    prometheus_port: int = 9464
    prometheus_address: str = "127.0.0.1"
    alerts: tuple[str, ...] = ()

    @classmethod
    def of_run(cls, run: Run) -> RecorderSettings:
        """The settings in the run's configuration, defaults for the others.

        A loop of another program may have any configuration: only valid values are used.
        """
        config = run.manifest().get("config")
        table = config.get("recorder") if isinstance(config, Mapping) else None
        if not isinstance(table, Mapping):
            return cls()
        known: dict[str, Any] = {}
        for name, default in vars(cls()).items():
            value = table.get(name)
            if isinstance(value, list):
                texts = (text for text in value if isinstance(text, str))
                value = tuple(text for text in texts if name != "to" or text in SINK_PACKAGES)
            if type(value) is type(default) and _IS_POSSIBLE.get(name, bool)(value):
                known[name] = value
        return cls(**known)


# The values that `operant record` accepts.
_IS_POSSIBLE: dict[str, Callable[[Any], bool]] = {
    "to": lambda value: True,
    "prometheus_port": lambda value: 1 <= value <= 65535,
}


def lacking(sink: str) -> str | None:
    """One line if the package of `sink` is not installed, else None."""
    if importlib.util.find_spec(SINK_PACKAGES[sink]):
        return None
    return f"{sink} is not installed here; `{install_command(sink)}` brings it"


class RecorderProcess:
    """The recorder of a run. A file in the run's folder says that not all of the run is there yet.

    `pid` is 0 where this process has started none: another one may record the run.
    """

    def __init__(
        self, run: Run, settings: RecorderSettings | None, warn: Callable[[str], None]
    ) -> None:
        """Start the recorder, unless `settings` is None."""
        self._run = run
        self.pid = 0
        if settings:
            with suppress(OSError):  # a full disk
                os.close(open_to_append(run.recording_path))
            self.pid = start_recorder(run, settings, warn)
            if not self.pid:
                with suppress(OSError):
                    run.recording_path.unlink(missing_ok=True)
        self._start = process_start(self.pid) if self.pid else 0

    def wait(self) -> None:
        """Return once all of the run is in its folder, after `WAIT_S` at most, and at once where
        nothing writes it. Ctrl-C ends the waiting and nothing else.
        """
        deadline = time.monotonic() + WAIT_S
        with suppress(KeyboardInterrupt):
            while self._is_writing() and time.monotonic() < deadline:
                time.sleep(CHECK_EVERY_S)

    def _is_writing(self) -> bool:
        run = self._run
        if not run.recording_path.exists() or lock_holder(run.lock_path):  # it is resumed
            return False
        is_alive = self.pid and process_start(self.pid) == self._start
        return bool(is_alive or lock_holder(run.lock_path, RECORDER))


def start_recorder(run: Run, settings: RecorderSettings, warn: Callable[[str], None]) -> int:
    """Start the recorder of `run` in a session of its own; returns its pid. Returns 0, with a
    warning, when that fails, and 0 where the environment switches recorders off.
    """
    # Not for those who only want to know the names of sinks, as --help does.
    import subprocess

    if os.environ.get(SWITCH, "").lower() == "off":
        return 0
    for missing in filter(None, map(lacking, settings.to)):
        warn(f"{missing}; the run is recorded without it")
    python = python_program()
    if python is None:
        warn(
            f"no recorder: {sys.executable or 'this program'} cannot start one; "
            f"training goes on, `operant record {run.id}` of an installed operant starts one"
        )
        return 0
    recorder = [python, "-P", "-m", "operant", "record", run.id, "--beside"]
    try:
        log = open_to_append(run.recorder_log_path)
    except OSError:
        log = subprocess.DEVNULL
    try:
        started = subprocess.run(
            ["/bin/sh", "-c", _START, "sh", *recorder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            check=True,
            timeout=START_PATIENCE_S,
            # numpy would start a thread for each core; and no recorder ever starts another.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", SWITCH: "off"},
        )
        return int(started.stdout)
    except (OSError, subprocess.SubprocessError, TypeError, ValueError) as error:
        warn(f"no recorder: {error}; training goes on, `operant record {run.id}` starts one")
        return 0
    finally:
        if log >= 0:
            os.close(log)
