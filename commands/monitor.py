"""`operant monitor`: watch runs."""

from __future__ import annotations

import importlib.util

import click

from ..monitor.remote.host import RemoteName
from ..monitor.session.browser import end_with_the_server, is_in_a_browser
from ..shared.errors import UsageError, nearest
from ..shared.install_command import install_command
from .helpers.candidates import theme_option
from .helpers.choosing_a_run import (
    checked_hosts,
    chosen_host,
    chosen_run,
    host_option,
    listed_host,
    looked_anywhere,
    run_argument,
)
from .helpers.terminal import has_terminal, say_starting

DEFAULT_PORT = 8765


@click.command("monitor")
@run_argument
@host_option
@click.option("--once", is_flag=True, help="Print one plain report and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and exit.")
@click.option("--follow", is_flag=True, help="With --json: a line per snapshot until the run ends.")
@click.option("--readonly", is_flag=True, help="Send the trainer no requests; write no notes.")
@theme_option
@click.option("--ascii", "as_ascii", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--web", is_flag=True, help="Serve the monitor to a browser and print its address.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="With --web: the port. Default: 8765; 0: any."
)
@click.option("--address", help="With --web: where to listen. Default: 127.0.0.1.")
def command(
    run: str | None,
    latest: bool,
    hosts: tuple[str, ...],
    once: bool,
    as_json: bool,
    follow: bool,
    readonly: bool,
    theme: str | None,
    as_ascii: bool,
    web: bool,
    port: int | None,
    address: str | None,
) -> None:
    """Watch a run from any terminal, or choose one from the list of all runs.

    RUN is a run's id, its name, or any part of either that no other run has. The run goes on when
    you leave or kill the monitor. `?` lists the keys. HOST:RUN watches a run on another machine
    over your own ssh, HOST: its latest run; HOST:/ lists its runs, and --host HOST adds them to
    those of this machine. $OPERANT_SSH replaces the command `ssh`, $OPERANT_REMOTE the command
    `operant` on the other machine.
    """
    if not (once or as_json or web or is_in_a_browser()):
        say_starting()
    theme = known_theme(theme)
    if web:
        if once or as_json or follow:
            raise UsageError("--web shows a screen, and excludes --once, --json and --follow")
        _serve(run, latest, address, port)
        return
    end_with_the_server()
    if port is not None or address is not None:
        raise UsageError("--port and --address need --web")
    if follow and not as_json:
        raise UsageError("--follow needs --json")
    if hosts or listed_host(run):
        if once or as_json:
            raise UsageError("a list of machines needs a screen; `operant runs --host` prints it")
        _watch_machines(run, latest, hosts, theme, as_ascii, readonly)
        return
    if follow:
        _follow(run, latest)
        return
    if once or as_json:
        _print_once(run, latest, as_json)
        return
    remote = chosen_host(run, latest)
    chosen = chosen_run(run, latest) if (run or latest) and not remote else None
    if not (has_terminal() or is_in_a_browser()):
        raise UsageError("the monitor needs a terminal; use --once or --json without one")
    if remote:
        _watch_remote(remote, theme, as_ascii)
        return

    from ..monitor.app import watch

    watch(chosen, theme=theme, is_ascii=as_ascii, is_readonly=readonly)


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


def _follow(run: str | None, latest: bool) -> None:
    from .helpers.following import follow_remote, follow_run

    remote = chosen_host(run, latest)
    if remote:
        follow_remote(remote)
    else:
        follow_run(chosen_run(run, latest))


def _print_once(run: str | None, latest: bool, as_json: bool) -> None:
    """All of a run of this machine; of one elsewhere its status."""
    from .helpers.output import print_json, print_report, print_status

    if as_json:
        status, notes = looked_anywhere(run, latest)
        print_json(status.as_json() | notes.as_json())
    elif chosen_host(run, latest):
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
