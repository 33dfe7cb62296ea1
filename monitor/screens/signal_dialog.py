"""Which signal a process is sent, and what each does to it."""

from __future__ import annotations

import signal
import textwrap
from signal import Signals
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ..render.lines import Line, boxed, fit
from ..runs.machine.processes import ProcessRow
from ..runs.machine.tuning_advice import knobs_of
from ..widgets.drawing import Drawing

_WIDTH, _EFFECT_AT = 76, 11
# Capital, so that nobody kills who wants to move up.
_KEYS = {
    "i": signal.SIGINT,
    "t": signal.SIGTERM,
    "K": signal.SIGKILL,
    "s": signal.SIGSTOP,
    "c": signal.SIGCONT,
}
_GOES_ON = "continues after SIGSTOP"
_ANY = ("interrupts it, as Ctrl-C", "asks it to end", "ends it at once", "pauses it", _GOES_ON)
_TRAINER = (
    "the run finishes its iteration, saves a checkpoint and stops, as by `operant stop`",
    "the same; a second signal, two seconds later or more, ends the run at once",
    "ends at once, without a checkpoint; the run is crashed",
    "pauses; the run is shown as stalled",
    _GOES_ON,
)
_LOOP = (
    "ends the loop, unless it handles the signal; the run is stopped",
    "the same",
    "ends at once; the run is crashed",
    "pauses; the run is shown as stalled",
    _GOES_ON,
)
_WORKER = (
    "no effect: workers leave it to the trainer",
    "no effect: workers leave it to the trainer",
    "ends at once; the run fails",
    "pauses; the run waits for it",
    _GOES_ON,
)
_RECORDER = (
    "ends a recorder that was started by hand; no effect on others",
    "writes what there is, and continues until its run ends",
    "ends at once; training goes on, and `operant record` starts another",
    "pauses; training goes on",
    _GOES_ON,
)


def effects_of(row: ProcessRow) -> dict[Signals, str]:
    """What each signal does to a process, and to the run that it belongs to."""
    member = row.member
    texts = _ANY
    if member and member.is_trainer:
        texts = _LOOP if knobs_of(member.run.manifest()) is None else _TRAINER
    elif member:
        texts = {"worker": _WORKER, "recorder": _RECORDER}.get(member.role, _ANY)
    return dict(zip(_KEYS.values(), texts, strict=True))


class SignalChoices(Drawing):
    """The process in a frame, and the signals."""

    def __init__(self, row: ProcessRow) -> None:
        super().__init__(id="signals")
        self._row, self._effects = row, effects_of(row)

    def lines(self, width: int) -> list[tuple[Line, str]]:
        """Each line with the key that a click on it stands for."""
        about = [f"user {self._row.user}", *(self._row.member or ())[1:]]
        command = textwrap.wrap(self._row.command, max(16, width), max_lines=3, placeholder="…")
        lines: list[tuple[Line, str]] = [([(fit(row, width), "strong")], "") for row in command]
        lines += [([(fit(" · ".join(about), width), "dim")], ""), ([], "")]
        for key, number in _KEYS.items():
            text = f"{key} {number.name:<{_EFFECT_AT - 2}}{self._effects[number]}"
            for row in textwrap.wrap(text, max(16, width), subsequent_indent=" " * _EFFECT_AT):
                line: Line = [(row[:_EFFECT_AT], "strong"), (row[_EFFECT_AT:], "dim")]
                lines.append((line, key))
        lines += [([], ""), ([("esc", "strong"), (" sends nothing", "dim")], "escape")]
        return lines

    def draw(self, width: int, height: int) -> list[Line]:
        body = [line for line, _ in self.lines(width - 4)]
        title = f"signal process {self._row.pid}"
        return boxed([(title, "warning")], body, width, height, "focus")

    def on_click(self, event: events.Click) -> None:
        lines = self.lines(self.size.width - 4)
        if 1 <= event.y <= len(lines) and (key := lines[event.y - 1][1]):
            self.app.simulate_key(key)


class SignalDialog(ModalScreen[Signals | None], inherit_bindings=False):
    """Gives the signal that was chosen; None for none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"choose('{key}')", number.name) for key, number in _KEYS.items()),
        Binding("escape,n,q,enter,ctrl+c", "choose('')", "send nothing"),
    ]

    def __init__(self, row: ProcessRow) -> None:
        super().__init__()
        self._row = row

    def compose(self) -> ComposeResult:
        choices = SignalChoices(self._row)
        width = min(_WIDTH, self.app.size.width)
        choices.styles.max_width = width
        choices.styles.height = len(choices.lines(width - 4)) + 2
        yield choices

    def action_choose(self, key: str) -> None:
        self.dismiss(_KEYS.get(key))
