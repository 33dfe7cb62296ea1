"""Runs a sweep: begins trials, looks after their runs, tells Optuna what they gave."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import optuna
from optuna.trial import TrialState

from ...monitor.render.formatting import counted
from ...shared.errors import ConfigError
from ...shared.runs.run_folder import Run, runs_folder
from ...shared.runs.status import holder_of
from ...shared.runs.sweep_folder import Sweep
from .definition import Definition
from .found_table import Going, TableWriter, line_of
from .open_trial import MACHINE, MESSAGE, RUNS, OpenTrial
from .study import ask, asked_before
from .trial_run import TrialRun

LOOK_EVERY_S = 0.2
WRITE_EVERY_S = 1.0  # where nothing but progress is new


class Sweeper:
    """Keeps up to `parallel` runs going until all requested and all suggested trials have ended.
    `say` gets one line for each event.
    """

    def __init__(
        self,
        sweep: Sweep,
        definition: Definition,
        study: optuna.Study,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._sweep, self._definition, self._study, self._say = sweep, definition, study, say
        self._trials: list[OpenTrial] = []
        self._progress: dict[str, float] = {}
        self._table = TableWriter(sweep, definition, study)
        self._write_at = 0.0
        self._is_table_lost = False

    def run(self, stop_signals: Sequence[int] = ()) -> None:
        """Return once all is done, or once a signal is in `stop_signals` and all runs have saved
        their checkpoints.
        """
        try:
            self._take_over()
            while not stop_signals and self._step():
                time.sleep(LOOK_EVERY_S)
            if stop_signals:
                self._stop_all()
        except BaseException:
            for run in self._active():
                run.stop()
            raise
        finally:
            self._write()

    def _step(self) -> bool:
        """Look at everything once; returns whether there is anything left to wait for."""
        for trial in list(self._trials):
            self._look_at(trial)
        while len(self._active()) < self._definition.parallel and self._begin_next():
            pass
        if time.monotonic() >= self._write_at:
            self._write()
        return bool(self._trials)

    def _active(self) -> list[TrialRun]:
        return [run for trial in self._trials for run in trial.active.values()]

    # Beginning

    def _begin_next(self) -> bool:
        """Begin one more run: of a trial that has seeds left, else of another trial."""
        for trial in self._trials:
            seed = next(trial.waiting_seeds(), None)
            if seed is not None and not trial.is_reported:
                self._begin(trial, seed)
                return True
        known = self._study.get_trials(deepcopy=False)
        num_waiting = sum(trial.state == TrialState.WAITING for trial in known)
        if not num_waiting and len(known) >= self._definition.num_trials:
            return False
        asked = ask(self._study, self._definition.parameters)
        if self._definition.machine:
            asked.set_user_attr(MACHINE, self._definition.machine)
        self._trials.append(OpenTrial(asked, self._definition, self._sweep.name))
        return True

    def _begin(self, trial: OpenTrial, seed: int) -> None:
        """A seed's run: from where it was left, or from the start."""
        former = _found(trial.run_ids.get(str(seed), ""))
        try:
            if former and (going := TrialRun.go_on(former)):
                trial.active[seed] = going
            else:
                trial.begin(seed)
        except ConfigError as error:
            self._end(trial, TrialState.FAIL, str(error))

    def _take_over(self) -> None:
        """Adopt the runs of an earlier sweeper process, which still train or have ended since."""
        for frozen in self._study.get_trials(deepcopy=False):
            if frozen.user_attrs.get(MACHINE, "") != self._definition.machine:
                continue
            if frozen.state == TrialState.RUNNING:
                again = asked_before(self._study, frozen, self._definition.parameters)
                trial = OpenTrial(again, self._definition, self._sweep.name)
                self._trials.append(trial)
                for seed in list(trial.waiting_seeds()):
                    run = _found(trial.run_ids.get(str(seed), ""))
                    if run and _needs_no_restart(TrialRun(run)):
                        trial.active[seed] = TrialRun(run)
                if trial.scores() is not None:  # it was killed before it could tell
                    self._end(trial, TrialState.COMPLETE)
            elif frozen.state.is_finished():
                for run_id in frozen.user_attrs.get(RUNS, {}).values():
                    if (run := _found(run_id)) and holder_of(run):
                        TrialRun(run).stop()  # its trial was ended, and nobody could tell it

    # Looking after

    def _look_at(self, trial: OpenTrial) -> None:
        for seed, run in list(trial.active.items()):
            if run.is_over():
                self._has_ended(trial, seed, run)
                continue
            status = run.status()
            self._progress[run.run.id] = status.progress_fraction or 0.0
            if not trial.is_reported and self._is_worse(trial, seed, run):
                self._end(trial, TrialState.PRUNED, "worse than the median of the others")
        if trial.is_reported and not trial.active:
            self._trials.remove(trial)

    def _has_ended(self, trial: OpenTrial, seed: int, run: TrialRun) -> None:
        """A run's process is gone."""
        self._progress.pop(run.run.id, None)
        if not trial.is_reported:
            failure = run.failure() or trial.take_scores(seed)
            if failure:
                self._end(trial, TrialState.FAIL, f"{run.run.id}: {failure}")
            else:
                self._is_worse(trial, seed, run)  # for the others to be compared with
        del trial.active[seed]
        if not trial.is_reported and trial.scores() is not None:
            self._end(trial, TrialState.COMPLETE)

    def _is_worse(self, trial: OpenTrial, seed: int, run: TrialRun) -> bool:
        """Compare a trial with the others, by its first seed, where that has come to a point to do
        so; returns whether it is not worth going on with.
        """
        if not self._definition.is_pruned or seed != self._definition.first_seed:
            return False
        env_steps = run.status().env_steps or 0
        return trial.reaches_mark(env_steps) and trial.report(run, env_steps)

    def _end(self, trial: OpenTrial, state: TrialState, message: str = "") -> None:
        """Tell Optuna how a trial ended, then stop those of its runs that go on."""
        if message:
            trial.trial.set_user_attr(MESSAGE, message)
        scores = trial.scores() if state == TrialState.COMPLETE else None
        frozen = self._study.tell(trial.number, scores, state)
        trial.is_reported = True
        ended = "pruned" if state == TrialState.PRUNED else "ended"
        for run in trial.active.values():
            run.stop(f"{ended} by sweep {self._sweep.name}: {message}")
        self._say(line_of(frozen, self._study, self._definition))
        self._write_at = 0.0

    def _stop_all(self) -> None:
        """All runs in good order; those that finish all the same have finished."""
        runs = self._active()
        if runs:
            what = f"{counted(len(runs), 'run')} will finish this iteration and save a checkpoint"
            self._say(f"stopping: {what}; again: ending at once")
        for run in runs:
            run.stop()
        while any(not run.is_over() for run in runs):
            time.sleep(LOOK_EVERY_S)
        for trial in self._trials:
            for seed, run in list(trial.active.items()):
                if not run.failure():
                    self._has_ended(trial, seed, run)

    def _write(self) -> None:
        self._write_at = time.monotonic() + WRITE_EVERY_S
        going = {
            trial.number: Going(
                trial.latest,
                trial.done({seed: self._progress.get(run.run.id, 0.0)
                            for seed, run in trial.active.items()}),
            )
            for trial in self._trials
            if not trial.is_reported
        }  # fmt: skip
        try:
            self._table.write(going)
            self._is_table_lost = False
        except OSError as error:  # it is for who looks on alone: the journal knows all
            if not self._is_table_lost:
                self._say(f"the table cannot be written: {error.strerror or error}")
            self._is_table_lost = True


def _found(run_id: str) -> Run | None:
    run = Run(runs_folder() / run_id)
    return run if run_id and run.folder.is_dir() else None


def _needs_no_restart(run: TrialRun) -> bool:
    """Whether it still trains, or has said its last word."""
    return not run.is_over() or run.status().state in ("finished", "failed")
