"""The monitor in a browser: a server on this machine that shows it to who has the address."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import math
import os
import secrets
import shlex
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import click
from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from ...monitor.session.browser import LIFE
from ...shared.errors import UsageError

END_WITHIN_S = 2.0  # for a screen whose page is gone
PATIENCE_S = 5.0  # for screens that are open when it ends
HEARTBEAT_S = 15.0  # a browser that does not answer for so long is gone
MOST_INPUT = 1 << 14  # bytes in a second: keys and mice send a few hundred
MOST_COLUMNS, MOST_ROWS = 1000, 500
# The page asks another site for a font, which would learn that somebody watches.
# Whoever reaches the port could have them write across this terminal.
_LOGGERS = ("textual-serve", "aiohttp.server", "aiohttp.web", "asyncio")
HEADERS = {
    "Content-Security-Policy": "default-src 'self' data: 'unsafe-inline' 'unsafe-eval'; "
    "connect-src 'self' ws: wss:; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}

# The keys go to the terminal as soon as that is there, and again whenever the page comes back.
_HEAD = """<title>operant monitor</title><script>
  const takeKeys = () => document.querySelector(".xterm-helper-textarea")?.focus();
  new MutationObserver((_, found) => {
    takeKeys();
    if (document.activeElement?.matches(".xterm-helper-textarea")) found.disconnect();
  }).observe(document, {childList: true, subtree: true, attributes: true});
  addEventListener("focus", takeKeys);
</script>"""


class Screen(AppService):
    """The program behind one page. It is ended with the page and with this server, whatever it is
    busy with, and its input is limited to what people can type.
    """

    def __init__(self, command: str, life: int, **given: Any) -> None:
        super().__init__(command, **given)
        self._life = life  # a pipe that ends with the server
        self._second, self._num_bytes = 0, 0

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        size = _bounded(width, MOST_COLUMNS), _bounded(height, MOST_ROWS)
        self._process = await asyncio.create_subprocess_exec(
            *shlex.split(self.command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._build_environment(*size) | {LIFE: str(self._life)},
            pass_fds=(self._life,),
            start_new_session=True,
        )
        self._stdin = self._process.stdin
        return self._process

    async def send_bytes(self, data: bytes) -> bool:
        """Send input; more than `MOST_INPUT` bytes in a second are dropped: a large paste would
        keep the program busy for hours.
        """
        second = int(asyncio.get_running_loop().time())
        if second != self._second:
            self._second, self._num_bytes = second, 0
        self._num_bytes += len(data)
        return self._num_bytes <= MOST_INPUT and self._sent(b"D", data)

    async def send_meta(self, data: dict[str, str | int | bool | None]) -> bool:
        return self._sent(b"M", json.dumps(data).encode())

    async def set_terminal_size(self, width: Any, height: Any) -> None:
        await super().set_terminal_size(_bounded(width, MOST_COLUMNS), _bounded(height, MOST_ROWS))

    def _sent(self, kind: Literal[b"D", b"M"], data: bytes) -> bool:
        """Without waiting for a program that reads nothing: its page may be gone."""
        transport = self.stdin.transport
        if transport.is_closing() or transport.get_write_buffer_size() > MOST_INPUT:
            return False
        self.stdin.write(self.encode_packet(kind, data))
        return True

    async def stop(self) -> None:
        """Ask it to end; `END_WITHIN_S` later nothing of it is left."""
        if self._process is None:
            return
        try:
            async with asyncio.timeout(END_WITHIN_S):
                await super().stop()
        except TimeoutError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()


def _bounded(cells: Any, most: int) -> int:
    """The number of columns or rows, limited to `most`."""
    is_number = isinstance(cells, int | float) and math.isfinite(cells)
    return int(min(max(cells, 1), most)) if is_number else 1


class TokenServer(Server):
    """Serves a program below `/TOKEN/` and nothing anywhere else: neither the page nor the
    websocket that the program is behind. Each page has a process of its own.
    """

    def __init__(self, command: str, token: str) -> None:
        super().__init__(command, title="operant")
        self._token = token
        self._screens: set[asyncio.Task[Any]] = set()
        # The kernel closes the writing end with this process, however that ends.
        self._life, self._life_end = os.pipe()

    async def make_app(self) -> web.Application:
        """The application: everything below the token."""
        app = web.Application(middlewares=[self._only_with_token])
        app.on_response_prepare.append(_with_headers)
        app.router.add_get(f"/{self._token}", self._to_page)  # whose last / was not copied
        app.add_subapp(f"/{self._token}", await self._make_app())
        return app

    @web.middleware
    async def _only_with_token(self, request: web.Request, handler: Any) -> Any:
        token = request.path[1:].partition("/")[0].encode()  # there may be no / at all
        if not hmac.compare_digest(token, self._token.encode()):
            raise web.HTTPNotFound
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() != request.host.lower():
            raise web.HTTPForbidden(text="a page from elsewhere may not use this monitor")
        return await handler(request)

    async def _to_page(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(f"/{self._token}/")

    async def handle_index(self, request: web.Request) -> Any:
        """The page, with the address that the browser knows: the port may be another's there. It
        has a title and takes the keys.
        """
        self.public_url = f"{request.scheme}://{request.host}"
        page: Any = await super().handle_index(request)
        page.text = page.text.replace("<head>", f"<head>{_HEAD}", 1)
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A screen, until the browser or this server leaves."""
        task = asyncio.current_task()
        assert task
        self._screens.add(task)
        websocket = web.WebSocketResponse(heartbeat=HEARTBEAT_S)
        screen = Screen(
            self.command, self._life, write_bytes=websocket.send_bytes,
            write_str=websocket.send_str, close=websocket.close,
            download_manager=self.download_manager,
        )  # fmt: skip
        width = to_int(request.query.get("width", ""), 80)
        height = to_int(request.query.get("height", ""), 24)
        try:
            await websocket.prepare(request)
            await screen.start(width, height)
            await self._process_messages(websocket, screen)
        except asyncio.CancelledError:
            await websocket.close()
        except Exception:  # of messages that no page sends
            await websocket.close(code=WSCloseCode.POLICY_VIOLATION)
        finally:
            await screen.stop()
            self._screens.discard(task)
        return websocket

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
