"""Episodes on the terminal, until somebody has seen enough."""

from __future__ import annotations

import os
import sys
import time

from rich.console import Console

from ...shared.errors import UsageError
from ..render.ascii import needs_ascii
from ..render.palette import styles_for
from ..session.session import Session
from ..session.settings import settings_path
from .player import Player, press
from .screen import screen_lines, too_small
from .terminal import Terminal

IDLE_S = 0.25  # between two looks at the terminal's size while nothing moves


def make_terminal(theme: str | None = None, is_ascii: bool = False) -> Terminal:
    """The terminal, in the colours that it has and people chose for the monitor. Raises UsageError
    where nothing could be seen on it.
    """
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("TERM=dumb: this terminal cannot place text; use -o FILE")
    reason = too_small(*os.get_terminal_size(sys.stdout.fileno()))
    if reason:
        raise UsageError(f"{reason}; use -o FILE")
    session = Session(settings_path(), theme=theme, is_ascii=is_ascii or needs_ascii())
    console = Console(file=sys.stdout)
    is_plain = console.no_color or session.palette_name == "plain"
    color_system = None if is_plain else console.color_system
    styles = styles_for(color_system, session.palette_name)
    return Terminal(styles, color_system, session.is_ascii)


def show(player: Player, terminal: Terminal) -> None:
    """Play until a key or the last episode ends it, `player.fps` frames a second at most, on a
    terminal that is open.
    """
    terminal.drop_keys()
    next_s = time.monotonic()
    size = (0, 0)
    while not player.is_done:
        wait_s = IDLE_S if player.is_paused else next_s - time.monotonic()
        keys = terminal.keys(wait_s)
        if keys is None or not all(press(player, key) for key in keys):
            return
        has_changed = bool(keys)
        now = time.monotonic()
        if now >= next_s:
            has_changed |= player.frame()
            next_s = max(next_s + 1 / player.fps, now)
        if has_changed or terminal.size != size:
            size = terminal.size
            lines = screen_lines(player, *size, terminal.color_system, terminal.is_ascii)
            terminal.paint(lines, size)
