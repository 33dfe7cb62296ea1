"""One trainer process: opens the run's page and folder, trains, and writes how the run ended."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...shared.errors import ConfigError, OperantError, explained
from ...shared.messages import LOGGER
from ...shared.page.events import RESUMED, Level
from ...shared.page.requests import STOP_REASON
from ...shared.processes.lock import RunLock
from ...shared.runs.outcome import State
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ...shared.runs.session import RunSession
from ...shared.runs.setting_sources import sources_in, started_in_words
from ...shared.text.harmless import harmless_lines
from ...shared.text.plain_values import text_of
from ..config import TrainConfig
from ..config.files import preset_hint
from ..config.metrics import metrics_of, rank_metrics
from ..distributed.place import Place
from ..envs.env_warnings import env_warnings
from ..envs.hosts import describe
from ..envs.names import GYMNASIUM_PREFIX
from ..experiment.plan import plan, this_machine
from ..experiment.traits import RankLayout
from ..machine.main_memory import keep_freed_memory
from .callbacks import EXITS, Callbacks, callbacks_of
from .signals import Requests, say
from .telemetry import PUBLISH_INTERVAL_S

if TYPE_CHECKING:
    from ..distributed.process_group import ProcessGroup

EVENT_CHARACTERS = 900  # the end of a traceback, where the error is


class Prepared(NamedTuple):
    """A run whose trainer may start. `resume_publish` is the publish number of the checkpoint that
    it goes on from; None for a new run.
    """

    run: Run
    lock: RunLock
    config: TrainConfig
    resume_publish: int | None = None


class Progress(Protocol):
    """Receives what the page receives, to show it elsewhere."""

    def __call__(self, values: Mapping[str, float], iteration: int, env_steps: int) -> None:
        """Called with each publish."""

    def phase(
        self, name: str, done: int | None, total: int | None, unit: str, left_s: float | None
    ) -> None:
        """Called with the arguments of each `MetricsWriter.phase`."""


class FirstRank(NamedTuple):
    """Rank 0 of several, at its `place`; `split` divides the environments among them. While ranks
    meet, `check_others` is called; it raises OperantError if one of them has ended.
    """

    place: Place
    split: str = ""
    check_others: Callable[[], None] = lambda: None


class _StoppedBeforeMeetingError(OperantError):
    """A signal came while ranks still waited for one another."""


def run_training(
    prepared: Prepared,
    requests: Requests | None = None,
    progress: Progress | None = None,
    *,
    ranks: FirstRank | None = None,
    callbacks: Callbacks | None = None,
    raises: bool = False,
) -> int:
    """Train in this process and leave the run finished, stopped or failed.

    The first signal in `requests` stops it in good order, a later one at once. `ranks` is for runs
    of several. The configuration may add to the `callbacks` of a script. An error of training is
    printed, or raised if `raises` is set. Returns the exit code: 0, 1 if training failed, 2 if the
    configuration cannot be trained, 128 + signal.
    """
    keep_freed_memory()
    run, lock, config, resume_publish = prepared
    requests = Requests() if requests is None else requests
    callbacks = Callbacks() if callbacks is None else callbacks
    callbacks.add(callbacks_of(config))
    # The page comes first: whatever goes wrong from here on, monitors see it.
    session = RunSession(
        run,
        lock,
        (*metrics_of(config), *(rank_metrics(ranks.place.world_size) if ranks else ())),
        publish_interval_s=PUBLISH_INTERVAL_S,
        continue_from=resume_publish,
        recorder=RecorderSettings.of_run(run),
        console=True,
    )
    session.metrics.on_phase = progress.phase if progress else None
    session.metrics.on_event = _log_event
    requests.end_at_once = partial(_end_at_once, run, session)
    _say_beginning(session, config, is_new=resume_publish is None)
    try:
        from ..experiment.checkpoints import latest_checkpoint  # torch takes a second to import
        from ..machine.device import device_name
        from .loop import train

        layout = RankLayout(ranks.place.world_size) if ranks else None
        planned = plan(config, describe(config), this_machine(), layout)
        started = {"device": device_name(planned.device), "stepped_by": planned.host}
        with contextlib.suppress(OSError):  # a full disk is no reason not to train
            run.write_manifest({**run.manifest(), **started})
        checkpoint = None
        if resume_publish is not None:
            warn = partial(session.metrics.event, "warning")
            checkpoint = latest_checkpoint(run.checkpoint_folder, warn)
            session.metrics.event("info", f"{RESUMED} {checkpoint.iteration}")
        with _process_group(ranks, config, requests, session) as (_, group):
            is_complete = train(
                config,
                session.metrics,
                run.checkpoint_folder,
                resume_from=checkpoint,
                requests=requests,
                report=progress or (lambda *_: None),
                ranks=group,
                callbacks=callbacks,
            )
    except _StoppedBeforeMeetingError:
        is_complete = False
    except EXITS as error:
        session.close("stopped", 128 + signal.SIGINT, f"by {type(error).__name__}")
        raise
    except BaseException as error:
        raises |= not isinstance(error, Exception)  # of a script's own code
        exit_code = _failed(session, error, config, prints=not raises)
        if raises:
            raise
        return exit_code
    state, exit_code, message = _ending(run, requests, is_complete, callbacks.stop_reason)
    session.close(state, exit_code, message)
    return exit_code


def _say_beginning(session: RunSession, config: TrainConfig, is_new: bool) -> None:
    """Publish where a new run's settings come from, and warnings about the configuration."""
    sources = sources_in(session.run.manifest())
    if sources and is_new:
        env = config.env.removeprefix(GYMNASIUM_PREFIX)
        session.metrics.event("info", started_in_words(config.algorithm, env, sources))
        if hint := preset_hint(config, sources):
            session.metrics.event("info", hint)
    facts = config.facts()
    for warning in (*config.algorithm_section.warnings(facts), *env_warnings(facts, config.seed)):
        session.metrics.event("warning", warning)


def _log_event(level: Level, text: str) -> None:
    """Log an event; what is routine is for the monitor alone."""
    LOGGER.log(getattr(logging, level.upper()), "%s", harmless_lines(text))


def _failed(session: RunSession, error: BaseException, config: TrainConfig, prints: bool) -> int:
    """Close the run with the error; returns the exit code."""
    message, explanation = _failure(error, config)
    if prints:
        with contextlib.suppress(OSError):  # the terminal may have gone
            print(harmless_lines(explanation), file=sys.stderr)
    session.metrics.on_event = None
    session.metrics.event("error", explanation[-EVENT_CHARACTERS:])
    exit_code = 2 if isinstance(error, ConfigError) else 1
    session.close("failed", exit_code, message)
    return exit_code


def _end_at_once(run: Run, session: RunSession, number: int) -> None:
    """Write how the run ended and exit, whatever the main thread does, and whatever goes wrong. A
    checkpoint that is being written is lost; those before it stay.
    """
    try:
        saved = sorted(path.stem for path in run.checkpoint_folder.glob("iteration-*.pt"))
        newest = f"its newest checkpoint is {saved[-1]}" if saved else "it has no checkpoint"
        message = f"at once, by a later {signal.Signals(number).name}; {newest}"
        say(f"ending {message}")
        session.close("stopped", 128 + number, message)
    finally:
        os._exit(128 + number)


def _process_group(
    ranks: FirstRank | None, config: TrainConfig, requests: Requests, session: RunSession
) -> contextlib.AbstractContextManager[tuple[TrainConfig, ProcessGroup]]:
    """The configuration and the group of all ranks, once they have met; LOCAL without `ranks`."""
    if ranks is None:
        from ..distributed.process_group import LOCAL  # it imports torch

        return contextlib.nullcontext((config, LOCAL))
    from .joining import joined  # only several need torch.distributed

    def check_waiting() -> bool:
        ranks.check_others()
        if requests.stop:
            raise _StoppedBeforeMeetingError("stopped before the ranks had met")
        return False

    return joined(ranks.place, config, ranks.split, check_waiting, session)


def _failure(error: BaseException, config: TrainConfig) -> tuple[str, str]:
    """The error of a run: in one line, and with all that helps to find the cause."""
    if "torch" in sys.modules:  # else it is no error of PyTorch's, or PyTorch itself is missing
        from ..machine.device import out_of_memory_message

        message = out_of_memory_message(error, config.num_envs, config.rollout_steps)
        if message:  # a traceback would say nothing more
            return message, message
    if isinstance(error, OperantError):
        return text_of(error), "".join(explained(error))
    return f"{type(error).__name__}: {text_of(error)}", traceback.format_exc().rstrip()


def _ending(run: Run, requests: Requests, is_complete: bool, reason: str) -> tuple[State, int, str]:
    if is_complete or reason:  # a signal in the last iteration stops nothing
        return "finished", 0, reason
    if requests.stop:
        number = requests[0]
        message = f"by {signal.Signals(number).name}"
        if number == signal.SIGHUP:
            message = f"its terminal was closed; `operant train --resume {run.id}` goes on"
        elif number == signal.SIGTERM:
            message = str(run.manifest().get(STOP_REASON) or message)
        return "stopped", 128 + number, message
    return "stopped", 128 + signal.SIGTERM, "by another rank"
