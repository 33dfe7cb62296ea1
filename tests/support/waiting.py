"""Waiting for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

PATIENCE_S = 600
LOOK_AGAIN_S = 0.01


def wait_for(condition: Callable[[], Answer]) -> Answer:
    """Wait until `condition` is true and return its value; fail after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(LOOK_AGAIN_S)
    return answer
