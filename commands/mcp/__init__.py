"""`operant mcp`: what programs that speak the Model Context Protocol may ask about runs."""

from __future__ import annotations

import importlib.util
import signal

import click

from ...shared.errors import UsageError

MISSING = "`operant mcp` needs the package mcp: pip install 'operant-rl[mcp]'"


@click.command("mcp")
def command() -> None:
    """Answer an MCP client on standard input and output: runs, status, metrics, settings, events.

    Nothing is ever changed or started. In a client's configuration the command is operant and its
    arguments are mcp; docs/tools.md says what can be asked.
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageError(MISSING)
    from .server import make_server

    # At once: nothing has to be put in order, and the library would wait for one more line.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    make_server().run("stdio")
