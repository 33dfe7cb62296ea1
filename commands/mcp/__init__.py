"""`operant mcp`: what programs that speak the Model Context Protocol may ask about runs."""

from __future__ import annotations

import importlib.util
import signal

import click

from ...shared.errors import UsageError

MISSING = "`operant mcp` needs the package mcp: pip install 'operant-rl[mcp]'"


@click.command("mcp")
def command() -> None:
    """Serve runs, their status, metrics, settings and events to an MCP client over standard input
    and output.

    It never changes or starts anything. In the client's configuration the command is operant and
    its argument is mcp; docs/tools.md lists the requests.
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(MISSING)
    from .server import make_server

    # At once: nothing has to be put in order, and the library would wait for one more line.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    make_server().run("stdio")
