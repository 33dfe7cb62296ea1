"""What keys do while episodes are played."""

from __future__ import annotations

from collections.abc import Callable

from .player import Player

QUIT = ("q", "\x03")  # the last is Ctrl-C, which a raw terminal gives as a key
_ACTIONS: dict[str, Callable[[Player], None]] = {
    " ": Player.pause,
    "+": lambda player: player.change_speed(2),
    "-": lambda player: player.change_speed(1 / 2),
    "n": lambda player: player.go_to(player.number + 1),
    "p": lambda player: player.go_to(player.number - 1),
    "r": lambda player: player.go_to(player.number),
    "s": lambda player: player.go_to(0, player.seed + 1),
    ".": Player.single_step,
    "\t": lambda player: player.select(1),
    "\x1b[Z": lambda player: player.select(-1),
}
_SAME = {"=": "+", "\x1b[C": ".", "\x1b[A": "+", "\x1b[B": "-"}
HINTS = (
    ("space", "pause"), ("+ -", "speed"), ("n p", "episode"), ("s", "seed"), (".", "step"),
    ("q", "quit"),
)  # fmt: skip
AGENT_HINT = ("tab", "robot")


def press(player: Player, key: str) -> bool:
    """Do what a key stands for, if it does; returns whether to go on."""
    if key in QUIT:
        return False
    action = _ACTIONS.get(_SAME.get(key, key))
    if action:
        action(player)
    return True
