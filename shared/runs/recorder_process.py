"""The recorder of a run, as the process that starts it sees it: its settings, and its start."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..install_command import install_command
from ..processes.python_program import python_program

if TYPE_CHECKING:
    from .run_folder import Run

SWITCH = "OPERANT_RECORDER"  # "off" in the environment: no process starts a recorder

# Where rows go beside the files, and the package that each needs; its extra has the sink's name.
SINK_PACKAGES = {
    "tensorboard": "tensorboard",
    "prometheus": "prometheus_client",
    "wandb": "wandb",
}
START_PATIENCE_S = 10.0

# The shell ends at once: the recorder is nobody's child, and no caller who waits for its own
# children ever meets it. It says the recorder's number.
_START = '"$@" >&2 & echo $!'


@dataclass(frozen=True)
class RecorderSettings:
    """`to` names sinks. `wait_s` is how long a run that ends waits for its recorder's last word.
    `alerts` are rules as their author wrote them.
    """

    to: tuple[str, ...] = ()
    wait_s: float = 2.0
    prometheus_port: int = 9464
    prometheus_address: str = "127.0.0.1"
    alerts: tuple[str, ...] = ()

    @classmethod
    def of_run(cls, run: Run) -> RecorderSettings:
        """Those of the run's own configuration, defaults for the rest.

        A configuration is anything where operant did not train: only what fits is taken.
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

    def arguments(self) -> list[str]:
        """As options of `operant record`, which reads rules in the run's configuration alone."""
        arguments = [
            f"--prometheus-port={self.prometheus_port}",
            f"--prometheus-address={self.prometheus_address}",
        ]
        return arguments + [f"--to={sink}" for sink in self.to]


# What `operant record` takes; of what it would refuse, the default is as good.
_IS_POSSIBLE: dict[str, Callable[[Any], bool]] = {
    "to": lambda value: True,
    "wait_s": lambda value: 0.0 <= value <= 60.0,
    "prometheus_port": lambda value: 1 <= value <= 65535,
}


def lacking(sink: str) -> str | None:
    """Why `sink` cannot be used here, in one line; None when its package is installed."""
    if importlib.util.find_spec(SINK_PACKAGES[sink]):
        return None
    return f"{sink} is not installed here; `{install_command(sink)}` brings it"


def start_recorder(run: Run, settings: RecorderSettings, warn: Callable[[str], None]) -> int:
    """Start the recorder of `run` in a session of its own; returns its process. Warn when that
    fails, and go on; 0 then, and where none is wanted.
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
    log = _log(run, subprocess.DEVNULL)
    try:
        started = subprocess.run(
            ["/bin/sh", "-c", _START, "sh", *recorder, *settings.arguments()],
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


def _log(run: Run, nowhere: int) -> int:
    """Where the recorder complains; `nowhere` if the folder takes no file."""
    from .small_file import open_to_append

    try:
        return open_to_append(run.recorder_log_path)
    except OSError:
        return nowhere
