"""`operant monitor`: watch runs."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..monitor.remote.host import RemoteName
from ..monitor.session.browser import end_with_the_server, is_in_a_browser
from ..shared.errors import OperantError, UsageError, nearest
from ..shared.install_command import install_command
from .command import Command
from .helpers.candidates import run_ids, theme_option
from .helpers.choosing_a_run import (
    checked_hosts,
    chosen_host,
    chosen_run,
    host_option,
    latest_option,
    listed_host,
    looked_anywhere,
    run_here,
)
from .helpers.terminal import has_terminal, say_starting

if TYPE_CHECKING:
    from ..shared.runs.run_folder import Run

DEFAULT_PORT, DEFAULT_SIZE = 8765, "120x40"
_SMALLEST, _LARGEST = (20, 6), (500, 200)


@click.command("monitor", cls=Command)
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=run_ids)
@latest_option
@host_option
@click.option("--once", is_flag=True, help="Print one plain report and exit.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.svg",
    help="With --once: write the screen to a file instead.",
)  # fmt: skip
@click.option("--size", help="With -o: columns x rows of the screen. Default: 120x40.")
@click.option("--readonly", is_flag=True, help="Send the trainer no requests; write no notes.")
@theme_option
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--web", is_flag=True, help="Serve the monitor to a browser and print its address.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="With --web: the port. Default: 8765; 0: any."
)
@click.option("--address", help="With --web: where to listen. Default: 127.0.0.1.")
def command(
    runs: tuple[str, ...],
    latest: bool,
    hosts: tuple[str, ...],
    once: bool,
    output: Path | None,
    size: str | None,
    readonly: bool,
    theme: str | None,
    as_ascii: bool,
    web: bool,
    port: int | None,
    address: str | None,
) -> None:
    """Watch runs in the terminal, or the list of all runs.

    Further RUNs are drawn on the charts of the first. The runs go on when you leave or kill the
    monitor. `?` lists the keys. HOST:RUN watches a run on another machine
    over your own ssh, HOST: its latest run; HOST:/ lists its runs, and --host HOST adds them to
    those of this machine. $OPERANT_SSH replaces the command `ssh`, $OPERANT_REMOTE the command
    `operant` on the other machine.
    """
    if not (once or web or is_in_a_browser()):
        say_starting()
    theme = known_theme(theme)
    run = runs[0] if runs else None
    if web:
        if once:
            raise UsageError("--web shows a screen, and excludes --once")
        _serve(run, latest, address, port)
        return
    end_with_the_server()
    if port is not None or address is not None:
        raise UsageError("--port and --address need --web")
    if (output or size) and not (once and output):
        raise UsageError("a picture needs both --once and -o FILE.svg")
    if hosts or listed_host(run):
        if once:
            raise UsageError("a list of machines needs a screen; `operant runs --host` prints it")
        _watch_machines(run, latest, hosts, theme, as_ascii, readonly)
        return
    remote = chosen_host(run, latest)
    if remote and runs[1:]:
        raise UsageError(f"{run} is on another machine: it is watched alone")
    if once and not output:
        _print_once(run, latest)
        return
    # Without a run the screen is the list, and a picture is of the newest.
    is_of_a_run = bool(run or latest or output) and not remote
    chosen = chosen_run(run, latest) if is_of_a_run else None
    beside = [run_here(other) for other in runs[1:]]
    if output:
        if chosen is None:
            raise UsageError(f"{run} is on another machine, and a picture is of a run on this one")
        _write_picture(output, size or DEFAULT_SIZE, chosen, beside, theme)
        return
    if not (has_terminal() or is_in_a_browser()):
        raise UsageError("the monitor needs a terminal; use --once without one")
    if remote:
        _watch_remote(remote, theme, as_ascii)
        return

    from ..monitor.app import watch

    watch(chosen, beside=beside, theme=theme, is_ascii=as_ascii, is_readonly=readonly)


def _serve(run: str | None, latest: bool, address: str | None, port: int | None) -> None:
    """Have browsers show what the same command would show here. What can be wrong with it is said
    before anybody opens one.
    """
    if importlib.util.find_spec("textual_serve") is None:
        raise UsageError(f"--web needs textual-serve: {install_command('web')}")
    if (run or latest) and not (listed_host(run) or chosen_host(run, latest)):
        chosen_run(run, latest)
    from .helpers.web_monitor import serve

    serve(_same_arguments(), address or "127.0.0.1", DEFAULT_PORT if port is None else port)


def _same_arguments() -> list[str]:
    """This command's arguments, less the server's."""
    context = click.get_current_context()
    options: list[str] = []
    names: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in ("web", "port", "address") or value is None or value is False:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(parameter, click.Argument):
                names.append(str(each))
            else:
                options += [parameter.opts[0]] if each is True else [parameter.opts[0], str(each)]
    return [*options, "--", *names]


def known_theme(name: str | None) -> str | None:
    """`name`, if there is such a theme. Raises UsageError."""
    from ..monitor.render.palette import THEMES

    if name is not None and name not in THEMES:
        hint = nearest(name, THEMES)
        raise UsageError(f"--theme {name} is unknown{hint}; there are {', '.join(THEMES)}")
    return name


def _write_picture(
    path: Path, size: str, run: Run, beside: Sequence[Run], theme: str | None
) -> None:
    """Write the screen of a run as an SVG file."""
    from ..monitor.picture import picture
    from .helpers.output import print_line

    if path.suffix != ".svg":
        raise UsageError(f"-o {path}: expected a name that ends in .svg")
    content = picture(run, _parsed_size(size), theme, beside=beside)
    try:
        path.write_text(content, "utf-8")
    except OSError as error:
        raise OperantError(f"cannot write {path}: {error.strerror}") from None
    print_line(f"{run.id}: {path}")


def _parsed_size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text)
    if match:
        width, height = int(match[1]), int(match[2])
        if _SMALLEST[0] <= width <= _LARGEST[0] and _SMALLEST[1] <= height <= _LARGEST[1]:
            return width, height
    raise UsageError(f"--size {text} is not between 20x6 and 500x200, such as 120x40")


def _print_once(run: str | None, latest: bool) -> None:
    """All of a run of this machine; of one elsewhere its status."""
    from .helpers.output import print_report, print_status

    if chosen_host(run, latest):
        print_status(*looked_anywhere(run, latest))
    else:
        print_report(chosen_run(run, latest))


def _watch_machines(
    run: str | None,
    latest: bool,
    hosts: tuple[str, ...],
    theme: str | None,
    as_ascii: bool,
    readonly: bool,
) -> None:
    """The list of the runs of other machines, and of this one unless a single host was named as
    HOST:/. What asks for a password does not answer: ssh cannot ask under the screen.
    """
    alone = listed_host(run)
    if (alone and hosts) or latest or (run and not alone):
        raise UsageError("--host lists runs, and excludes RUN and --latest; try HOST:RUN")
    wanted = checked_hosts([alone] if alone else hosts)
    if not has_terminal():
        raise UsageError("the monitor needs a terminal; `operant runs --host` prints the list")
    from ..monitor.app import watch
    from ..monitor.remote.remote_list import Machines

    machines = Machines(wanted, with_local=not alone)
    watch(None, theme=theme, is_ascii=as_ascii, is_readonly=readonly, machines=machines)


def _watch_remote(name: RemoteName, theme: str | None, as_ascii: bool) -> None:
    """Connect before the screen is taken, so that ssh can ask for a password. The trainer cannot
    be asked for anything from here.
    """
    from ..monitor.app import watch
    from ..monitor.remote.remote_list import Machines
    from ..monitor.remote.remote_run import RemoteRun

    source = RemoteRun(name)
    source.connect()
    source.start()
    try:
        machines = Machines([name.host])  # where `esc` leads to
        watch(
            source.run, source, theme=theme, is_ascii=as_ascii, is_readonly=True, machines=machines
        )
    finally:
        source.close()
