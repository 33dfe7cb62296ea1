"""Fills a mirror from a stream, in a thread that connects again when the connection is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...shared.text.harmless import one_line
from .connection import Connection
from .mirror import Mirror, Piece

AGAIN_AFTER_S = 5.0
SILENT_AFTER_S = 10.0  # a frame comes every second, whether there is news or not


class RemoteStream:
    """The stream that `command` starts; `command` takes whether ssh may ask for a password."""

    def __init__(
        self,
        host: str,
        command: Callable[[bool], list[str]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.host, self.mirror = host, Mirror(host)
        self._command, self._now = command, now
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"stream {host}", daemon=True)
        self._connection: Connection | None = None
        self._unnamed: set[str] = set()  # runs known before this connection, and not named in it
        self._trouble = f"connecting to {host}"
        self._seen_s: float | None = None  # while connected
        self.is_complete = False

    @property
    def trouble(self) -> str:
        """Why nothing new comes; empty while it does."""
        seen_s = self._seen_s
        silent_s = 0.0 if seen_s is None else self._now() - seen_s
        if silent_s > SILENT_AFTER_S:
            return f"{self.host} says nothing for {silent_s:.0f} s"
        return self._trouble

    @property
    def is_connected(self) -> bool:
        return self._seen_s is not None

    def connect(self, until: Callable[[Piece], bool], *, may_ask: bool) -> Piece:
        """Connect, and take what comes until that piece; returns it. Raises UsageError when host or
        run are wrong, OperantError when the connection fails otherwise.
        """
        try:
            self._connect(may_ask)
            assert self._connection
            for frame in self._connection.frames():
                if until(piece := self._take(self.mirror.take(frame))):
                    return piece
            raise self._connection.why_it_ended()
        except BaseException:
            self._hang_up()
            raise

    def start(self) -> None:
        """Follow the stream in a thread until `close`."""
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._hang_up()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(1.0)
        self.mirror.close()

    def _follow(self) -> None:
        while not self._ended.is_set():
            try:
                if self._connection is None:
                    self._connect(may_ask=False)
                for frame in self._connection.frames() if self._connection else ():
                    if self._ended.is_set():
                        return
                    self._take(self.mirror.take(frame))
                trouble = f"lost the connection to {self.host}"
            # Whatever comes from another machine must not end the monitor.
            except Exception as error:
                trouble = one_line(str(error), 300) or type(error).__name__
            self._hang_up()
            self._trouble, self._seen_s = f"{trouble}; trying again", None
            self._ended.wait(AGAIN_AFTER_S)

    def _connect(self, may_ask: bool) -> None:
        connection = self._connection = Connection(self.host, self._command(may_ask))
        if self._ended.is_set():
            return
        self._unnamed = set(self.mirror.runs)
        self._take(self.mirror.take(connection.first_frame()))

    def _take(self, piece: Piece) -> Piece:
        self._unnamed.discard(piece.run)
        if piece.is_complete is not None:
            self.is_complete = piece.is_complete
        if piece.is_complete:
            for run_id in self._unnamed:
                self.mirror.forget(run_id)
            self._unnamed.clear()
        self._trouble, self._seen_s = "", self._now()
        return piece

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.close()
