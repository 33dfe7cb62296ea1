"""Ctrl-C while libraries are imported."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C inside takes effect at the end. An import of PyTorch that is cut off cannot be made up
    for: the next one in the same process crashes it.
    """
    handler: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    arrived: list[Any] = []
    signal.signal(signal.SIGINT, lambda *received: arrived.append(received))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            handler(*arrived[0])
