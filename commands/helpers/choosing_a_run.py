"""The run that a command is about."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from ...monitor.remote.host import RemoteName, checked_host, remote_name
from ...shared.errors import TracebackOption, UsageError
from .candidates import run_ids, runs_and_sweeps

if TYPE_CHECKING:
    from ...shared.runs.run_folder import Run
    from ...shared.runs.run_notes import RunNotes
    from ...shared.runs.status import RunStatus
    from ...shared.runs.sweep_folder import Sweep

ZOO = "zoo:"  # before the name of an environment


def run_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """`[RUN]`: the decorated command gets `run`."""
    return click.argument("run", required=False, metavar="[RUN]", shell_complete=run_ids)(function)


def run_or_sweep(function: Callable[..., Any]) -> Callable[..., Any]:
    """`[RUN|SWEEP]` or `--latest`: the decorated command gets `name` and `latest`."""
    argument = click.argument(
        "name", required=False, metavar="[RUN|SWEEP]", shell_complete=runs_and_sweeps
    )
    return argument(latest_option(function))


def latest_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--latest`: the decorated command gets `latest`."""
    return click.option("--latest", is_flag=True, help="Choose the run that was started last.")(
        function
    )


def trust_code_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--trust-code`, which the trainer asks for; processes that the command starts know of it. And
    `--traceback`, which says where that code failed.
    """

    def trust(context: click.Context, _: click.Parameter, is_given: bool) -> None:
        if is_given:
            from ...trainer.config.stored_code import SWITCH

            former = os.environ.get(SWITCH, "")
            os.environ[SWITCH] = "1"
            context.call_on_close(lambda: os.environ.update({SWITCH: former}))

    def offer(_context: click.Context, _: click.Parameter, is_given: bool) -> None:
        TracebackOption.is_given = is_given

    trust_code = click.option(
        "--trust-code", is_flag=True, expose_value=False, callback=trust,
        help="Import the code that the run's configuration names, even if another user wrote it.",
    )  # fmt: skip
    return trust_code(
        click.option(
            "--traceback", is_flag=True, expose_value=False, callback=offer,
            help="Also show where your own code raised an error.",
        )(function)
    )  # fmt: skip


def checkpoint_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--checkpoint NAME`: the decorated command gets `checkpoint`."""
    return click.option(
        "--checkpoint", default="newest", show_default=True, metavar="best|newest|N",
        help="The policy of the best evaluation, of the newest checkpoint, or of iteration N.",
    )(function)  # fmt: skip


def chosen_run(run: str | None, latest: bool = False, *, must_be_only: bool = False) -> Run:
    """The run asked for, the latest without a word. The newest of several runs of a name, with a
    warning, unless it `must_be_only`. Raises RunNotFoundError or UsageError.
    """
    if run and latest:
        raise UsageError(f"give either a run ('{run}') or --latest")
    from ...shared.runs.find_runs import latest_run
    from .output import warn

    return run_here(run, warn=None if must_be_only else warn) if run else latest_run()


def chosen_policy(run: str | None) -> Run:
    """The run whose policy is asked for; for `zoo:ENV` the policy that comes with operant for an
    environment. Raises RunNotFoundError or UsageError.
    """
    if not (run and run.startswith(ZOO)):
        return chosen_run(run)
    from ...trainer.experiment.sharing.zoo import shipped_policy

    return shipped_policy(run.removeprefix(ZOO))


def sweep_called(name: str | None) -> Sweep | None:
    """The sweep of exactly this name, which is then meant rather than its runs."""
    from ...shared.runs.sweep_folder import list_sweeps

    return next((sweep for sweep in list_sweeps() if sweep.name == name), None)


def run_here(wanted: str, asked: str = "", warn: Callable[[str], None] | None = None) -> Run:
    """The run of that name, whose folder is here, for what was `asked` of operant: by default the
    command that is running. With `warn`, the newest of several runs of a name. Raises
    RunNotFoundError, and UsageError for one on another machine.
    """
    from ...shared.runs.find_runs import find_run

    _check_is_here(wanted, asked)
    return find_run(wanted, warn)


def _check_is_here(wanted: str, asked: str = "") -> None:
    if wanted.startswith(ZOO):
        raise UsageError(
            f"{wanted} is a policy that comes with operant and no run: `eval`, `play`, `push` and "
            "`export -o FILE.onnx` take it"
        )
    if remote := remote_name(wanted):
        asked = asked or click.get_current_context().info_name or ""
        run = shlex.quote(remote.run) if remote.run.strip("/") else "RUN"
        there = f"ssh {remote.host} operant {asked} {run}"
        raise UsageError(f"{wanted} is on another machine; call it there: `{there}`")


def looked_anywhere(run: str | None, latest: bool = False) -> tuple[RunStatus, RunNotes]:
    """The status of the run asked for, here or as HOST:RUN on another machine, and what people
    wrote about it.
    """
    remote = chosen_host(run, latest)
    if remote is None:
        from ...shared.runs.status import read_status

        chosen = chosen_run(run, latest)
        return read_status(chosen), chosen.notes()
    from ...monitor.remote.remote_run import RemoteRun

    source = RemoteRun(remote)
    try:
        return source.connect(), source.poll().notes
    finally:
        source.close()


def host_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--host HOST`, as often as wanted: the decorated command gets `hosts`."""
    return click.option(
        "--host", "hosts", multiple=True, metavar="HOST",
        help="Add the runs of another machine, over your own ssh; may be repeated.",
    )(function)  # fmt: skip


def checked_hosts(hosts: Iterable[str]) -> list[str]:
    """Each once. Raises UsageError for what does not name a host."""
    return [checked_host(host, f"--host '{host}'") for host in dict.fromkeys(hosts)]


def listed_host(run: str | None) -> str | None:
    """The host of `HOST:/`, whose runs are to be listed; None for anything else."""
    name = remote_name(run) if run else None
    return name.host if name and name.run == "/" else None


def chosen_host(run: str | None, latest: bool = False) -> RemoteName | None:
    """HOST:RUN taken apart, or None for a run of this machine."""
    remote = remote_name(run) if run else None
    if remote and latest:
        raise UsageError(f"give '{remote.host}:' for the latest run of {remote.host}")
    if remote and remote.run == "/":
        raise UsageError(
            f"{run} is the list of all runs of {remote.host}; `operant monitor {run}` shows it, "
            f"`operant runs --host {remote.host}` prints it"
        )
    return remote


def runs_here(wanted: Iterable[str]) -> list[Run]:
    """Runs to archive or delete, of any version: each once, in the order asked for."""
    from ...shared.runs.find_runs import run_called

    wanted = list(wanted)
    for name in wanted:
        _check_is_here(name)
    return list(dict.fromkeys(map(run_called, wanted)))
