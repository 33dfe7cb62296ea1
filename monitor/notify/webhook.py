"""Posts what there is to tell to a user's webhook. What goes wrong is one line, without secrets."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from socket import SHUT_RDWR
from threading import Timer
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from ...shared.text.harmless import one_line
from .message import Message
from .receivers import Receiver

RETRY_AFTER_S = (1.0, 5.0)


class _Deadline(AbstractHTTPHandler):
    """Has a try end in time: a socket's own timeout begins anew with every byte that comes."""

    def do_open(self, http_class: Any, req: Request, **http_conn_args: Any) -> HTTPResponse:
        def connected(host: str, timeout: float, **kept: Any) -> HTTPConnection:
            connection: HTTPConnection = http_class(host, timeout=timeout, **kept)
            timer = Timer(timeout, _shut, (connection,))
            timer.daemon = True
            timer.start()
            return connection

        return super().do_open(connected, req, **http_conn_args)  # type: ignore[arg-type]


class _Http(_Deadline, HTTPHandler):
    pass


class _Https(_Deadline, HTTPSHandler):
    pass


def _shut(connection: HTTPConnection) -> None:
    """Whoever reads from it meets its end; nothing where it has answered."""
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(SHUT_RDWR)


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """They would be followed with a GET."""


_OPENER = build_opener(_NoRedirects, _Http, _Https)


def post(receiver: Receiver, message: Message, wait: Callable[[float], bool]) -> str:
    """Call the webhook; why that failed, nothing where it did not. Once more, and again, only where
    the message cannot have arrived, or the other side says that it took none. `wait` is for so many
    seconds, between two tries; it says whether there is to be none.
    """
    num_tries = 0
    while True:
        problem, may_retry = _post_once(receiver, message)
        num_tries += 1
        if not problem or not may_retry:
            return problem
        if num_tries > len(RETRY_AFTER_S) or wait(RETRY_AFTER_S[num_tries - 1]):
            return f"{problem}, {num_tries} times" if num_tries > 1 else problem


def _post_once(receiver: Receiver, message: Message) -> tuple[str, bool]:
    """What went wrong, and whether another try may be made."""
    headers = {"Content-Type": "application/json", "User-Agent": "operant"}
    headers |= dict(receiver.headers)
    began_s = time.monotonic()
    late = f"no answer within {receiver.timeout_s:g} s; it may have arrived"
    try:
        body = message.as_json(receiver.body)
        request = Request(receiver.webhook, body, headers, method="POST")
        with _OPENER.open(request, timeout=receiver.timeout_s):
            return "", False
    except HTTPError as error:
        error.close()
        return _answer(error.code), error.code == HTTPStatus.TOO_MANY_REQUESTS or error.code >= 500
    except URLError as error:
        # Raised while it is connected and sent, so nothing has arrived.
        return f"no connection: {_reason(error.reason)}", True
    except TimeoutError:
        return late, False
    except (OSError, HTTPException, ValueError) as error:
        if time.monotonic() - began_s >= receiver.timeout_s:
            return late, False
        return f"no answer: {_reason(error)}; it may have arrived", False


def _answer(code: int) -> str:
    """Not in the words of the other side."""
    with suppress(ValueError):
        return f"HTTP {code} {HTTPStatus(code).phrase}"
    return f"HTTP {code}"


def _reason(error: object) -> str:
    return one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__, 200)
