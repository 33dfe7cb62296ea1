"""One trainer process: opens the run's page and folder, trains, and writes how the run ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...shared.errors import ConfigError, OperantError, explained, text_of
from ...shared.page.events import RESUMED, Level
from ...shared.page.requests import STOP_REASON, TakeRequest
from ...shared.page.writer import OnPhase
from ...shared.processes.lock import RunLock
from ...shared.runs.outcome import State
from ...shared.runs.recorder_process import RecorderSettings
from ...shared.runs.run_folder import Run
from ...shared.runs.session import RunSession
from ...shared.runs.setting_sources import sources_in, started_in_words
from ...shared.text.harmless import harmless_lines
from ..config import RecorderConfig, TrainConfig
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
from .signals import Received, say
from .telemetry import PUBLISH_INTERVAL_S, Report

if TYPE_CHECKING:
    from ..distributed.process_group import ProcessGroup

EVENT_CHARACTERS = 900  # the end of a traceback, where the error is


class _StoppedBeforeMeetingError(OperantError):
    """A signal came while ranks still waited for one another."""


def run_training(
    run: Run,
    lock: RunLock,
    config: TrainConfig,
    stop_signals: Received | None = None,
    *,
    resume_publish: int | None = None,
    take_request: TakeRequest = lambda _: False,
    report: Report = lambda *_: None,
    report_phase: OnPhase | None = None,
    place: Place | None = None,
    split: str = "",
    check_others: Callable[[], None] = lambda: None,
    on_error: Callable[[BaseException], None] | None = None,
    callbacks: Callbacks | None = None,
) -> int:
    """Train in this process and leave the run finished, stopped or failed.

    Stops in good order once a signal is in `stop_signals`, and at once with a later one.
    `resume_publish` is that of the newest checkpoint, to go on from it. `take_request` is asked
    what others want of the run. `report` and `report_phase` get what the page gets. Of several
    ranks this is the first, at its `place`, and `split` shares environments out; `check_others`
    raises an OperantError where one of them has ended before they met. `on_error` is given the
    error that training failed of, which is printed otherwise. `callbacks` are those of a script and
    of the configuration, by default of that alone. Returns the exit code: 0, 1 when training
    failed, 2 when what was asked for cannot be, 128 + signal.
    """
    keep_freed_memory()
    callbacks = Callbacks(callbacks_of(config)) if callbacks is None else callbacks
    stop_signals = Received() if stop_signals is None else stop_signals
    # The page comes first: whatever goes wrong from here on, monitors see it.
    session = RunSession(
        run,
        lock,
        (*metrics_of(config), *(rank_metrics(place.world_size) if place else ())),
        publish_interval_s=PUBLISH_INTERVAL_S,
        continue_from=resume_publish,
        recorder=_recorder_settings(config.recorder),
        console=True,
    )
    session.metrics.on_phase = report_phase
    session.metrics.on_event = _print_event
    stop_signals.end_at_once = partial(_end_at_once, run, session)
    sources, facts = sources_in(run.manifest()), config.facts()
    if sources and resume_publish is None:
        env = config.env.removeprefix(GYMNASIUM_PREFIX)
        session.metrics.event("info", started_in_words(config.algorithm, env, sources))
        if hint := preset_hint(config, sources):
            session.metrics.event("info", hint)
    for warning in (*config.algorithm_section.warnings(facts), *env_warnings(facts, config.seed)):
        session.metrics.event("warning", warning)
    try:
        from ..experiment.checkpoints import latest_checkpoint  # torch takes a second to import
        from ..machine.device import device_name
        from .loop import train

        layout = RankLayout(place.world_size) if place else None
        planned = plan(config, describe(config), this_machine(), layout)
        started = {"device": device_name(planned.device), "stepped_by": planned.host}
        with contextlib.suppress(OSError):  # a full disk is no reason not to train
            run.write_manifest({**run.manifest(), **started})
        checkpoint = None
        if resume_publish is not None:
            warn = partial(session.metrics.event, "warning")
            checkpoint = latest_checkpoint(run.checkpoint_folder, warn)
            session.metrics.event("info", f"{RESUMED} {checkpoint.iteration}")

        def check_waiting() -> bool:
            check_others()
            if stop_signals:
                raise _StoppedBeforeMeetingError("stopped before the ranks had met")
            return False

        with _met(place, config, split, check_waiting, session) as ranks:
            is_complete = train(
                config,
                session.metrics,
                run.checkpoint_folder,
                resume_from=checkpoint,
                should_stop=lambda: bool(stop_signals),
                take_request=take_request,
                report=report,
                ranks=ranks,
                callbacks=callbacks,
            )
    except _StoppedBeforeMeetingError:
        is_complete = False
    except Exception as error:
        return _failed(session, error, config, on_error)
    except EXITS as error:
        session.close("stopped", 128 + signal.SIGINT, f"by {type(error).__name__}")
        raise
    except BaseException as error:  # of a script's own code
        _failed(session, error, config, lambda _: None)
        raise
    state, exit_code, message = _ending(run, stop_signals, is_complete, callbacks.stop_reason)
    session.close(state, exit_code, message)
    return exit_code


def _print_event(level: Level, text: str) -> None:
    """Print an event in the terminal; what is routine is for the monitor alone."""
    if level == "debug":
        return
    label = "" if level == "info" else f"{level}: "
    _print(f"operant: {label}{text}")


def _print(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may have gone
        print(harmless_lines(text), file=sys.stderr)


def _failed(
    session: RunSession,
    error: BaseException,
    config: TrainConfig,
    on_error: Callable[[BaseException], None] | None,
) -> int:
    """Tell of the error and close the run with it; returns the exit code."""
    message, explanation = _failure(error, config)
    if on_error:
        on_error(error)
    else:
        _print(explanation)
    session.metrics.on_event = None  # it is printed, or for `on_error`
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


@contextlib.contextmanager
def _met(
    place: Place | None,
    config: TrainConfig,
    split: str,
    should_stop: Callable[[], bool],
    session: RunSession,
) -> Iterator[ProcessGroup]:
    """All that learn together, for as long as they do."""
    from ..distributed.process_group import LOCAL  # it imports torch

    if place is None:
        yield LOCAL
        return
    from .joining import joined  # only several need torch.distributed

    with joined(place, config, split, should_stop, session) as met:
        yield met.ranks


def _recorder_settings(config: RecorderConfig) -> RecorderSettings | None:
    if not config.on:
        return None
    return RecorderSettings(**config.model_dump(exclude={"on"}))


def _failure(error: BaseException, config: TrainConfig) -> tuple[str, str]:
    """What a run failed of: in one line, and with all that helps to find the cause."""
    if "torch" in sys.modules:  # else it is no error of PyTorch's, or PyTorch itself is missing
        from ..machine.device import out_of_memory_message

        message = out_of_memory_message(error, config.num_envs, config.rollout_steps)
        if message:  # a traceback would say nothing more
            return message, message
    if isinstance(error, OperantError):
        return text_of(error), "".join(explained(error))
    return f"{type(error).__name__}: {text_of(error)}", traceback.format_exc().rstrip()


def _ending(
    run: Run, stop_signals: Sequence[int], is_complete: bool, reason: str
) -> tuple[State, int, str]:
    if is_complete or reason:  # a signal in the last iteration stops nothing
        return "finished", 0, reason
    if stop_signals:
        number = stop_signals[0]
        message = f"by {signal.Signals(number).name}"
        if number == signal.SIGHUP:
            message = f"its terminal was closed; `operant train --resume {run.id}` goes on"
        elif number == signal.SIGTERM:
            message = str(run.manifest().get(STOP_REASON) or message)
        return "stopped", 128 + number, message
    return "stopped", 128 + signal.SIGTERM, "by another rank"
