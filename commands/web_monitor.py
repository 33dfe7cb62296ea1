"""The monitor in a browser: a server on this machine that shows it to who has the address."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import shlex
import socket
import sys
from collections.abc import Sequence
from typing import Any

import click
from aiohttp import web
from textual_serve.server import Server

from ..shared.errors import UsageError

PATIENCE_S = 5.0  # for screens that are open when it ends
# The page asks for a font elsewhere, which would tell others that somebody looks.
# Whoever reaches the port could have them write across this terminal.
_LOGGERS = ("textual-serve", "aiohttp.server", "aiohttp.web", "asyncio")
HEADERS = {
    "Content-Security-Policy": "default-src 'self' data: 'unsafe-inline' 'unsafe-eval'; "
    "connect-src 'self' ws: wss:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


class TokenServer(Server):
    """Serves a program below `/TOKEN/` and nothing anywhere else: neither the page nor the
    websocket that the program is behind. Each page has a process of its own.
    """

    def __init__(self, command: str, token: str) -> None:
        super().__init__(command, title="operant")
        self._token = token
        self._screens: set[asyncio.Task[Any]] = set()

    async def make_app(self) -> web.Application:
        """All there is to serve."""
        app = web.Application(middlewares=[self._only_with_token])
        app.on_response_prepare.append(_with_headers)
        app.router.add_get(f"/{self._token}", self._to_page)  # whose last / was not copied
        app.add_subapp(f"/{self._token}", await self._make_app())
        return app

    @web.middleware
    async def _only_with_token(self, request: web.Request, handler: Any) -> Any:
        told = request.path[1:].partition("/")[0].encode()  # there may be no / at all
        if not hmac.compare_digest(told, self._token.encode()):
            raise web.HTTPNotFound
        return await handler(request)

    async def _to_page(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(f"/{self._token}/")

    async def handle_index(self, request: web.Request) -> Any:
        """The page, with the address that the browser knows: the port may be another's there."""
        self.public_url = f"{request.scheme}://{request.host}"
        return await super().handle_index(request)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A screen, until the browser or this server leaves."""
        task = asyncio.current_task()
        assert task
        self._screens.add(task)
        try:
            return await super().handle_websocket(request)
        finally:
            self._screens.discard(task)

    async def on_startup(self, app: web.Application) -> None:
        """Says nothing: the address has been said."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Have open screens end, and their processes with them."""
        for task in self._screens:
            task.cancel()
        if self._screens:
            await asyncio.wait(self._screens, timeout=PATIENCE_S)


def serve(arguments: Sequence[str], address: str, port: int) -> None:
    """Show `operant monitor ARGUMENTS` in browsers until Ctrl-C. Raises UsageError where the port
    is not to be had.
    """
    token = secrets.token_urlsafe(24)
    command = shlex.join([sys.executable, "-P", "-m", "operant", "monitor", *arguments])
    listener = _listener(address, port)
    shown = f"[{address}]" if ":" in address else address
    click.echo(f"http://{shown}:{listener.getsockname()[1]}/{token}/")
    click.echo("Who has this address sees the monitor and can use it; Ctrl-C ends it.", err=True)
    sys.stdout.flush()
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with listener:
        web.run_app(
            TokenServer(command, token).make_app(),
            sock=listener,
            print=None,
            access_log=None,
            shutdown_timeout=PATIENCE_S,
        )


def _listener(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen()  # who has the address may come at once
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        raise UsageError(f"cannot listen at {address} port {port}: {reason}") from None
    return listener


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
