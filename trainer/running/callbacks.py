"""Callbacks: objects of a script whose methods training calls between iterations."""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...shared.errors import UsageError, check_argument, nearest
from ...shared.page.events import Level
from ...shared.runs.run_notes import read_notes
from ...shared.text.harmless import one_line
from ...shared.text.plain_values import described, described_error
from ...shared.text.short_numbers import short_number
from ..config.metrics import metrics_of
from ..config.tables import NO_BEST
from .step import Step

if TYPE_CHECKING:
    from ..config import TrainConfig
    from ..experiment.experiment import Experiment
    from ..experiment.intervals import Due
    from .saving import Saving
    from .telemetry import Telemetry

HOOKS = ("on_start", "on_iteration", "on_evaluation", "on_checkpoint", "on_end")
EXITS = (KeyboardInterrupt, SystemExit)  # end a run as stopped; all else as failed
RETURN = "evaluation/return"
BEST = "best"  # the name of the best policy
_CHECKPOINT_NAME = re.compile(r"(?!iteration-|newest$)[A-Za-z][A-Za-z0-9_-]{0,60}")


class Callback:
    """Any of these methods makes an object a callback; a class derived from this one has them all,
    and others need not derive from it.
    """

    def on_start(self, run: LiveRun) -> None:
        """Before the first iteration."""

    def on_iteration(self, run: LiveRun) -> None:
        """After each iteration, before its row is published."""

    def on_evaluation(self, run: LiveRun) -> None:
        """After each evaluation; `run.metrics` has what came of it."""

    def on_checkpoint(self, run: LiveRun) -> None:
        """Once a checkpoint is on disk: `run.newest_checkpoint`."""

    def on_end(self, run: LiveRun) -> None:
        """At the end, however training ended: `run.state`."""


class LiveRun:
    """A run while it trains, as its callbacks see it."""

    def __init__(
        self,
        experiment: Experiment,
        saving: Saving,
        event: Callable[[Level, str], None],
        wrap: Any,
    ) -> None:
        self._experiment, self._saving, self._wrap = experiment, saving, wrap
        self._event = event
        self._metrics: dict[str, float] = {}
        self._logged: dict[str, float] = {}
        self._of_operant = {metric.name for metric in metrics_of(experiment.config)}
        self._folder = saving.folder.parent
        self._newest_checkpoint: Path | None = None
        self._stop_reason, self._state = "", "running"
        self._policy: tuple[int, Any] | None = None  # and the iteration that it is of

    @property
    def id(self) -> str:
        """The run's id, which is the name of its folder."""
        return self._folder.name

    @property
    def name(self) -> str:
        """The name that a user gave the run, otherwise its id."""
        return read_notes(self._folder).name or self.id

    @property
    def folder(self) -> Path:
        """The run's folder."""
        return self._folder

    @property
    def state(self) -> str:
        """`running`; in `on_end`, `finished`, `stopped` or `failed`."""
        return self._state

    @property
    def config(self) -> dict[str, Any]:
        """All settings, tables as dicts: `run.config["num_envs"]`."""
        return self._experiment.config.model_dump(mode="json")

    @property
    def iteration(self) -> int:
        """Finished iterations."""
        return self._experiment.iteration

    @property
    def env_steps(self) -> int:
        """Env steps of all finished iterations."""
        return self._experiment.env_steps

    @property
    def metrics(self) -> Mapping[str, float]:
        """The newest value of each metric, by its name."""
        return types.MappingProxyType(self._metrics)

    @property
    def newest_checkpoint(self) -> Path | None:
        """The one that was written last; None before the first."""
        return self._newest_checkpoint

    def policy(self) -> Any:
        """A copy of the policy as it is now, on the processor: an `operant.Policy`."""
        if self._policy is None or self._policy[0] != self.iteration:
            from ..experiment.trained_policy import copy_of_policy

            experiment = self._experiment
            copied = copy_of_policy(experiment.policy, experiment.config, self.iteration)
            self._policy = self.iteration, self._wrap(copied, self._folder)
        return self._policy[1]

    def stop(self, reason: str = "") -> None:
        """End training after this iteration, with a checkpoint; the run is then finished, and says
        the reason. Raises UsageError unless `reason` is text.
        """
        check_argument("stop: reason", reason, str, "text")
        self._stop_reason = self._stop_reason or reason or "stopped by a callback"

    def log(self, values: Mapping[str, float]) -> None:
        """Publish metrics of one's own, named `group/name`, in the row of this iteration. Raises
        UsageError for a value that is not a number, and for the name of one of operant's metrics.
        """
        check_argument("log: values", values, Mapping, "a dict, as {'mine/score': 0.5}")
        for name, value in values.items():
            if not isinstance(name, str) or not name:
                raise UsageError(f"log: the name {described(name)}: expected text, as 'mine/score'")
            if name in self._of_operant:
                raise UsageError(
                    f"log: {name} is a metric of operant's: use another name, as 'mine/{name}'"
                )
            self._metrics[name] = self._logged[name] = _logged_number(name, value)

    def event(self, text: str) -> None:
        """Add a message to the run's events."""
        self._event("info", text)

    def save(self, name: str) -> Path:
        """Keep the policy as it is now, and the newest value of each metric, beside the checkpoints
        as NAME.pt: `operant.load(run, checkpoint=NAME)`. One of the same name is replaced. Raises
        UsageError for a bad name.
        """
        if not isinstance(name, str) or not _CHECKPOINT_NAME.fullmatch(name):
            raise UsageError(
                f"save: name = {described(name)}: expected a letter, then letters, digits, - and "
                "_, as 'best'; a number means the checkpoint of an iteration"
            )
        return self._saving.keep_policy(name, self._metrics)


def _logged_number(name: str, value: Any) -> float:
    """`value` as a float; it may be an array or a tensor of one number. Raises UsageError."""
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise UsageError(f"log: {name} = {described(value)}: expected a number") from None


class Callbacks(Step):
    """The callbacks of a run. What one raises ends the run, with a checkpoint: `failure`. The run
    is failed then, or stopped where that is an exit.
    """

    def __init__(
        self,
        callbacks: Sequence[Any] = (),
        wrap: Callable[[Any, Path], Any] = lambda policy, _: policy,
    ) -> None:
        """`run.policy()` is what `wrap` returns for a TrainedPolicy and the run's folder. Raises
        UsageError if an object is not a callback.
        """
        self._wrap = wrap
        self._hooks: dict[str, list[Callable[[LiveRun], None]]] = {hook: [] for hook in HOOKS}
        self.add(callbacks)
        self._run: LiveRun | None = None
        self.failure: BaseException | None = None

    def add(self, callbacks: Sequence[Any]) -> None:
        """Have these called too, after the others. Raises UsageError if one is not a callback."""
        check_callbacks(callbacks)
        for hook, methods in self._hooks.items():
            methods += [getattr(item, hook) for item in callbacks if hasattr(item, hook)]

    def __bool__(self) -> bool:
        return any(self._hooks.values())

    @property
    def waits(self) -> bool:
        """Whether a callback may look at the policy after any iteration."""
        return bool(self._hooks["on_iteration"] or self._hooks["on_checkpoint"])

    @property
    def stop_reason(self) -> str:
        """Why training should end; empty where it should not."""
        return self._run._stop_reason if self._run else ""

    @property
    def end_training(self) -> bool:
        return bool(self.failure or self.stop_reason)

    @contextmanager
    def during(
        self, experiment: Experiment, saving: Saving, telemetry: Telemetry
    ) -> Iterator[None]:
        """Wraps all iterations of a run and its last checkpoint. Raises what a callback raised."""
        if not self:
            yield
            return
        self._run = run = LiveRun(experiment, saving, telemetry.event, self._wrap)
        self._call("on_start")
        try:
            yield
        except BaseException as error:
            run._state = "stopped" if isinstance(error, EXITS) else "failed"
            self._end()
            raise
        is_finished = experiment.is_complete or self.stop_reason
        run._state = "finished" if is_finished else "stopped"
        if self.failure:
            run._state = "stopped" if isinstance(self.failure, EXITS) else "failed"
        self._end()
        if run._logged:
            telemetry.publish(run._logged)
        if self.failure:
            raise self.failure

    def after(self, row: dict[str, float], due: Due) -> None:
        """Call the callbacks after an iteration, and add what they log to its `row`."""
        run = self._run
        if run is None:
            return
        run._metrics |= row
        run._of_operant |= row.keys()
        if RETURN in row:
            self._call("on_evaluation")
        self._call("on_iteration")
        row |= run._logged
        run._logged = {}

    def checkpoint(self, path: Path) -> None:
        """After a checkpoint was written."""
        if self._run:
            self._run._newest_checkpoint = path
            self._call("on_checkpoint")

    def _call(self, hook: str) -> None:
        assert self._run
        for method in self._hooks[hook]:
            if self.failure:
                return
            try:
                if method(self._run) is False:  # so callbacks of other libraries stop training
                    raise UsageError(f"{hook} returned False; write run.stop() to stop training")
            except BaseException as error:  # whatever a script's own code raises
                self.failure = error

    def _end(self) -> None:
        """Call every `on_end`, whatever went wrong: it may close a file."""
        assert self._run
        for method in self._hooks["on_end"]:
            try:
                method(self._run)
            except BaseException as error:
                self.failure = self.failure or error


def check_callbacks(callbacks: Sequence[Any]) -> None:
    """Raises UsageError if one is not a callback, or has a method that is never called."""
    check_argument("callbacks", callbacks, (list, tuple), "a list, as callbacks=[Mine()]")
    for number, callback in enumerate(callbacks):
        place = f"callbacks[{number}]"
        if inspect.isclass(callback):
            name = callback.__name__
            raise UsageError(f"{place} = {name}: expected an object, as {name}()")
        methods = {}
        for name in (name for name in dir(callback) if name.startswith("on_")):
            try:
                methods[name] = getattr(callback, name)
            except Exception as error:
                said = described_error(error)
                raise UsageError(f"{place}: looking at {name} fails: {said}") from error
        for name, method in methods.items():
            if name in HOOKS and not callable(method):
                raise UsageError(f"{place}: {name} = {described(method)}: expected a method")
            if name not in HOOKS and callable(method):
                hint = nearest(name, HOOKS)
                kind = type(callback).__name__
                raise UsageError(f"{place}: {kind} has {name}, which is never called{hint}")
        if not methods.keys() & {*HOOKS}:
            raise UsageError(
                f"{place} = {described(callback)}: expected an object with any of "
                f"{', '.join(HOOKS)}"
            )


class StopAtReturn:
    """Stop once the mean return of an evaluation is `value` or more."""

    def __init__(self, value: float) -> None:
        self._value = value

    def on_evaluation(self, run: LiveRun) -> None:
        found = run.metrics[RETURN]
        if found >= self._value:
            run.stop(f"the return of an evaluation is {short_number(found)}")


class StopWithoutImprovement:
    """Stop after `patience` evaluations in a row whose mean return is not above the best before. A
    resumed run counts from 0.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._best, self._num_without = -math.inf, 0

    def on_evaluation(self, run: LiveRun) -> None:
        found = run.metrics[RETURN]
        if found > self._best:
            self._best, self._num_without = found, 0
            return
        self._num_without += 1
        if self._num_without >= self._patience:
            best = short_number(self._best)
            run.stop(f"no better evaluation in {self._patience}; the best return is {best}")


class SaveBest:
    """Keep the policy of the iteration with the best `metric` so far, as best.pt. A resumed run
    compares with the file that it has.
    """

    def __init__(self, metric: str, *, is_smaller: bool) -> None:
        """`is_smaller` says that smaller values are better, as for a loss."""
        self._metric, self._sign = metric, -1 if is_smaller else 1
        self._best, self._has_warned = -math.inf, False
        # The metrics of an evaluation change only there, and no iteration waits for this object.
        if metric.startswith("evaluation/"):
            self.on_evaluation = self._look
        else:
            self.on_iteration = self._look

    def on_start(self, run: LiveRun) -> None:
        from ..experiment.checkpoints import CHECKPOINTS, load_checkpoint

        path = run.folder / CHECKPOINTS / f"{BEST}.pt"
        if not run.iteration or not path.exists():
            return
        try:
            saved = load_checkpoint(path).state.get("metrics", {})
            self._best = self._sign * float(saved.get(self._metric, math.nan))
        except (UsageError, AttributeError, TypeError, ValueError) as error:
            said = one_line(str(error), 200)
            run._event("warning", f"{path.name} is taken for no best policy: {said}")
        self._best = -math.inf if math.isnan(self._best) else self._best

    def on_end(self, run: LiveRun) -> None:
        self._warn_if_unknown(run)

    def _warn_if_unknown(self, run: LiveRun) -> None:
        """Warn once if nothing has published the metric, and the run is not expected to."""
        known = {*run.metrics, *run._of_operant}
        if self._metric not in known and not self._has_warned:
            self._has_warned = True
            hint = nearest(self._metric, known)
            text = f"checkpoint.best: no metric is called '{self._metric}' so far{hint}"
            run._event("warning", text)

    def _look(self, run: LiveRun) -> None:
        if RETURN in run.metrics:  # nobody waits for a name in vain for longer than an evaluation
            self._warn_if_unknown(run)
        found = self._sign * run.metrics.get(self._metric, math.nan)
        if found > self._best:
            self._best = found
            try:
                run.save(BEST)
            except OSError as error:
                run._event("error", f"{BEST}.pt cannot be written: {error.strerror}")
                return
            run.event(f"{BEST}.pt: {self._metric} {short_number(run.metrics[self._metric])}")


def callbacks_of(config: TrainConfig) -> list[Any]:
    """The callbacks of a configuration's `checkpoint.best` and [stop]."""
    found: list[Any] = []
    best, evaluates = config.checkpoint.best, config.evaluation.num_episodes > 0
    if best != NO_BEST and (evaluates or not best.startswith("evaluation/")):
        better = {metric.name: metric.better for metric in metrics_of(config)}.get(best)
        found.append(SaveBest(best, is_smaller=better == "down" or best.startswith("loss/")))
    if config.stop.at_return is not None:
        found.append(StopAtReturn(config.stop.at_return))
    if config.stop.patience:
        found.append(StopWithoutImprovement(config.stop.patience))
    return found
