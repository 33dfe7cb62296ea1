"""`operant sweep`: begin a search, or go on with one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...shared.errors import ConfigError, OperantError, UsageError
from ..command import Command, json_option
from ..helpers import candidates
from ..helpers.choosing_a_run import trust_code_option

if TYPE_CHECKING:
    import optuna

    from ...shared.runs.sweep_folder import Sweep
    from .definition import Definition
    from .parameters import Value

LOOK_AGAIN_S = 0.05
DEFAULT_TRIALS, DEFAULT_PARALLEL, DEFAULT_SEEDS, DEFAULT_PRUNE_AFTER = 20, 1, 1, 5


class CountOrNone(click.IntRange):
    """A count, or `none`, which is 0."""

    def __init__(self) -> None:
        super().__init__(1, 100_000)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return 0 if value == "none" else super().convert(value, param, ctx)


@click.command("sweep", cls=Command)
@click.argument("config", required=False, metavar="[CONFIG]", shell_complete=candidates.configs)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="KEY=RANGE",
    shell_complete=candidates.settings,
    help="A key and its range: LOW:HIGH, log:LOW:HIGH, int:LOW:HIGH or A,B,C; may be repeated.",
)
@click.option(
    "--algorithm",
    metavar="NAME",
    shell_complete=candidates.algorithms,
    help="The algorithm, as for `operant train`.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, 100_000),
    help=f"Number of trials.  [default: {DEFAULT_TRIALS}]",
)
@click.option(
    "--parallel",
    type=click.IntRange(1, 1000),
    help=f"Runs that train at the same time.  [default: {DEFAULT_PARALLEL}]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 1000),
    help=f"Runs of each trial, whose mean is its score.  [default: {DEFAULT_SEEDS}]",
)
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    metavar="METRIC",
    shell_complete=candidates.metrics,
    help="What is best, as loss/value or seconds, the training time; max:METRIC and min:METRIC say "
    "which way; may be repeated.  [default: evaluation/return]",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=candidates.settings,
    help="Change one key of all trials; may be repeated.",
)
@click.option(
    "--try",
    "tries",
    multiple=True,
    metavar="KEY=VALUE,...",
    help="Values to try next; other keys are sampled. With --resume: also while the sweep runs.",
)
@click.option(
    "--prune-after",
    type=CountOrNone(),
    metavar="N|none",
    help="Finished trials before pruning starts; none lets every trial train to its end.  "
    f"[default: {DEFAULT_PRUNE_AFTER}]",
)
@click.option("--name", help="Name of the sweep. Default: the configuration's.")
@click.option("--storage", metavar="FOLDER|URL", help="Share the sweep with other machines.")
@click.option(
    "--resume",
    metavar="NAME",
    shell_complete=candidates.sweeps,
    help="Continue a sweep; --trials sets its total number of trials, --try adds values.",
)
@click.option("--detach", is_flag=True, help="Sweep in the background; return after the start.")
@trust_code_option
@json_option
def command(
    config: str | None, resume: str | None, detach: bool, as_json: bool, **given: Any
) -> int:
    """Search for the best values of settings.

    CONFIG is an environment, a preset or a TOML file. Every trial is one run, or one run per seed,
    and the monitor shows them like other runs; `w` in its list shows the sweep. `operant status
    NAME` prints the trials, best first, and `operant runs --sweeps` all sweeps. Ctrl-C, or `operant
    stop NAME`, saves checkpoints, and --resume NAME continues, also after a kill or a crash.
    """
    from ..helpers.output import print_json, print_line
    from .definition import check_optuna

    check_optuna()
    name = ""
    try:
        if resume is not None:
            sweep, lock, definition = _gone_on_with(resume, config, given)
        else:
            if config is None:
                raise UsageError("name an environment, a preset or a TOML file, or --resume NAME")
            sweep, lock, definition = _begun(config, **given)
        name = sweep.name
        tries = given["tries"]
        if lock is None:
            _enqueue(sweep, definition, tries)
            if as_json:
                print_json({"name": name, "state": "running", "tries": tries})
            else:
                print_line(f"{name} runs already, and tries {' and '.join(tries)} next")
            return 0
        try:
            if not detach:
                return _run(sweep, definition, tries, as_json)
            _enqueue(sweep, definition, tries)
        finally:
            lock.release()
        return _detached(sweep, as_json)
    except (KeyboardInterrupt, SystemExit) as error:  # before or after `_run` waits for the runs
        stopped = OperantError(
            f"sweep {name}: interrupted, and its runs were asked to stop; "
            f"`operant sweep --resume {name}` goes on"
            if name
            else "interrupted before the sweep began"
        )
        stopped.exit_code = getattr(error, "code", 128 + signal.SIGINT)
        raise stopped from None


def _begun(config: str, **given: Any) -> tuple[Sweep, Any, Definition]:
    """A new sweep, checked and locked. Raises UsageErrors; nothing is left behind then."""
    from ...shared.processes.lock import RunLock
    from ...shared.runs.provenance import provenance
    from ...shared.runs.sweep_folder import free_name, new_sweep
    from ..helpers.launching import VERSIONS_OF
    from .definition import checked_definition, write_definition
    from .parameters import parse_parameters
    from .study import open_study

    overrides = given["overrides"]
    if given["algorithm"]:
        overrides += (f"algorithm={given['algorithm']}",)
    parameters = parse_parameters(given["params"], overrides)
    definition = checked_definition(
        config, overrides, parameters, given["objectives"],
        may_prune=given["prune_after"] != 0,
        num_trials=given["trials"] or DEFAULT_TRIALS,
        parallel=given["parallel"] or DEFAULT_PARALLEL,
        num_seeds=given["seeds"] or DEFAULT_SEEDS,
        prune_after=given["prune_after"] or DEFAULT_PRUNE_AFTER,
    )  # fmt: skip
    _suggestions(given["tries"], definition)
    if storage := given["storage"]:
        definition = _shared(definition, storage, given["name"])
    sweep = new_sweep(given["name"] or free_name(Path(config).stem))
    try:
        lock = RunLock(sweep.lock_path)
        versions = provenance((*VERSIONS_OF, "optuna"))
        definition = write_definition(sweep, definition, versions)
        open_study(sweep, definition)
        return sweep, lock, definition
    except BaseException:
        shutil.rmtree(sweep.folder, ignore_errors=True)
        raise


def _shared(definition: Definition, storage: str, name: str | None) -> Definition:
    """A sweep in a storage that machines share. Raises UsageErrors."""
    if not name:
        raise UsageError("--storage needs --name: machines that give both alike share the sweep")
    if "://" not in storage:
        if not Path(storage).is_dir():
            raise UsageError(f"--storage {storage}: expected a folder, or a URL as sqlite:////x.db")
        storage = str(Path(storage).absolute())
    machine = f"{os.uname().nodename}-{os.urandom(2).hex()}"
    return replace(definition, storage=storage, machine=machine)


def _gone_on_with(
    name: str, config: str | None, given: dict[str, Any]
) -> tuple[Sweep, Any, Definition]:
    """A sweep that there is, with as many trials and as many at once as are asked for now, and its
    lock: None if it runs and is to try more values. Raises UsageErrors.
    """
    from ...shared.processes.lock import RunLock
    from ...shared.runs.sweep_folder import find_sweep
    from .definition import read_definition, write_definition

    options = {"overrides": "set", "params": "param", "objectives": "objective"}
    fields = {"trials": "num_trials", "parallel": "parallel"}
    changes = {field: given[key] for key, field in fields.items() if given[key]}
    changed = [key for key, value in given.items() if value and key not in (*fields, "tries")]
    if config is not None or changed:
        what = config or f"--{options.get(changed[0], changed[0]).replace('_', '-')}"
        raise UsageError(
            f"--resume {name} and {what} exclude each other: a sweep keeps what it searches, and "
            "--trials and --parallel alone may change; --try adds values"
        )
    sweep = find_sweep(name)
    if sweep.is_held():
        if changes or not given["tries"]:
            shown = f"`operant status {sweep.name}` shows it"
            raise UsageError(f"sweep {sweep.name} is running already; {shown}")
        return sweep, None, read_definition(sweep)
    definition = read_definition(sweep)
    lock = RunLock(sweep.lock_path)
    if changes:
        definition = replace(definition, **changes)
        write_definition(sweep, definition)
    return sweep, lock, definition


def _run(sweep: Sweep, definition: Definition, tries: Sequence[str], as_json: bool) -> int:
    """Sweep to the end, or until a signal comes; returns the exit code."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    from ...shared.text.harmless import one_line
    from ...trainer.running.signals import stop_requests
    from ..helpers.output import print_json, print_line
    from .sweeper import Sweeper

    def say(text: str) -> None:
        with contextlib.suppress(OSError):  # the terminal may have gone
            if as_json:
                click.echo(text, err=True)
            else:
                print_line(text)

    with stop_requests(says=False) as received:
        study = _enqueue(sweep, definition, tries)
        for line in _beginning(sweep, definition):
            say(line)
        began_s = time.monotonic()
        try:
            Sweeper(sweep, definition, study, say).run(received)
        # The disk is full, or the database is gone.
        except (OSError, StorageInternalError, SQLAlchemyError) as error:
            reason = getattr(error, "strerror", None) or one_line(str(error), 200)
            raise OperantError(
                f"sweep {sweep.name} cannot go on: {reason}; its runs were asked "
                f"to stop, and `operant sweep --resume {sweep.name}` takes them up again"
            ) from None
    table = sweep.table()
    if as_json:
        print_json({"state": sweep.state_when_free(table), **table.as_json()})
    else:
        from .status import print_sweep

        print_sweep(sweep, table, time.monotonic() - began_s)
    if received:
        if not table.is_complete:
            by, name = signal.Signals(received[0]).name, sweep.name
            say(f"sweep {name}: stopped by {by}; `operant sweep --resume {name}` goes on")
        return 128 + received[0]
    return 0 if table.count("finished") else 1


def _enqueue(sweep: Sweep, definition: Definition, tries: Sequence[str]) -> optuna.Study:
    """The study, with what --try says as its first trials."""
    from .study import enqueue, open_study

    study = open_study(sweep, definition)
    for values in _suggestions(tries, definition):
        enqueue(study, values)
    return study


def _detached(sweep: Sweep, as_json: bool) -> int:
    """Go on with the sweep in a process of its own, which prints into the sweep's log. Raises
    OperantError if that ends before it has begun.
    """
    from ...shared.processes.python_program import python_program
    from ...shared.runs.small_file import open_to_append
    from ..helpers.output import print_json, print_line

    python = python_program()
    if python is None:
        raise UsageError(
            f"{sys.executable} is not a Python interpreter: it cannot sweep in the background"
        )
    with os.fdopen(open_to_append(sweep.log_path), "ab") as log:
        process = subprocess.Popen(
            [python, "-P", "-m", "operant", "sweep", "--resume", sweep.name],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        while not sweep.is_held() and process.poll() is None:
            time.sleep(LOOK_AGAIN_S)
    except BaseException:  # as by Ctrl-C, after which nobody would know of it
        process.terminate()
        process.wait()
        raise
    if process.poll():
        raise OperantError(f"sweep {sweep.name} ended at once; {sweep.log_path} says why")
    if as_json:
        print_json({"name": sweep.name, "state": "running", "log": str(sweep.log_path)})
        return 0
    print_line(f"sweep {sweep.name}: running in the background")
    print_line(f"  operant status {sweep.name}    shows its trials")
    print_line(f"  operant stop {sweep.name}      stops it")
    return 0


def _suggestions(tries: Sequence[str], definition: Definition) -> list[dict[str, Any]]:
    """The values of --try, checked against the parameters. Raises UsageErrors."""
    return [_checked_suggestion(text, definition) for text in tries]


def _checked_suggestion(text: str, definition: Definition) -> dict[str, Value]:
    """Raises UsageError if a value is not allowed in the sweep, or values do not fit together."""
    from .definition import loader_of
    from .parameters import split_commas, suggestion_of

    values = suggestion_of(split_commas(text), definition.parameters)
    try:
        loader_of(definition.source, definition.overrides_of(values))(())
    except ConfigError as error:
        raise UsageError(f"--try {text}: {error}") from None
    return values


def _beginning(sweep: Sweep, definition: Definition) -> Iterator[str]:
    """Print the parameters, and that nothing is pruned if that may be a surprise."""
    from .definition import loader_of, pruning_note

    runs = f", each of {definition.num_seeds} runs" if definition.num_seeds > 1 else ""
    yield (
        f"sweep {sweep.name}: {definition.num_trials} trials{runs}, {definition.parallel} at a "
        f"time; {' '.join(objective.option for objective in definition.objectives)}"
    )
    if note := pruning_note(definition, loader_of(definition.source, definition.overrides)(())):
        yield note
