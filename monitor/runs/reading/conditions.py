"""How a run is doing: a word, a symbol, a colour, and a sentence where there is more to say."""

from __future__ import annotations

from dataclasses import dataclass

from ....shared.runs.status import RunStatus
from ...render.formatting import SHOWN_PHASES, format_age, format_phase, format_phase_time


@dataclass(frozen=True)
class Condition:
    """`word` and `symbol` say it without colour; `notice` is empty when all is as it should be.
    `progress` is how far a phase is, where it is worth saying.
    """

    word: str
    symbol: str
    style: str
    notice: str = ""
    progress: str = ""


_SYMBOLS = {
    "starting": ("◌", "quiet"),
    "resuming": ("◌", "quiet"),
    "running": ("●", "good"),
    "stalled": ("◐", "warning"),
    "crashed": ("✗", "error"),
    "failed": ("!", "error"),
    "stopped": ("■", "quiet"),
    "ended": ("□", "quiet"),
    "finished": ("✓", "done"),
}


def condition_of(status: RunStatus, is_page_expected: bool = True) -> Condition:
    """The condition behind `status`. `is_page_expected` is as in `RunView`."""
    word = _word(status, is_page_expected)
    notice = _notice(status, word, is_page_expected)
    if word == "running" and status.phase in SHOWN_PHASES:
        return Condition(status.phase, *_SYMBOLS[word], notice, phase_words(status))
    # A run elsewhere may be in a state that only its newer operant knows.
    return Condition(word, *_SYMBOLS.get(word, ("?", "quiet")), notice)


def phase_words(status: RunStatus) -> str:
    """`compiling 1 of 5 loops, 31s, about 20s left`: what a run does, how far it is with it, since
    when, and for how long.
    """
    if status.phase is None:
        return ""
    done, total, unit = status.phase_done, status.phase_total, status.phase_unit
    words = format_phase(status.phase, done, total, unit)
    time = format_phase_time(status.phase_s or 0.0, status.phase_left_s)
    return f"{words}, {time}" if time else words


def symbols() -> list[Condition]:
    """All there are, for the legend."""
    return [Condition(word, *look) for word, look in _SYMBOLS.items()]


def _word(status: RunStatus, is_page_expected: bool) -> str:
    if status.state == "running" and status.message == "resuming":
        return "resuming"
    is_silent = status.state == "running" and status.age_s is None
    if is_silent and (status.message == "starting" or not is_page_expected):
        return "starting"
    return status.state


def _notice(status: RunStatus, word: str, is_page_expected: bool) -> str:
    message = status.message
    if word == "starting" and status.phase in SHOWN_PHASES:
        return phase_words(status)
    if word == "starting":
        return "waiting for its first numbers" if is_page_expected else "waiting for its page"
    if word == "resuming":
        return "a new process takes the run over"
    if status.state == "stalled":
        doing = f" while {phase_words(status)}" if status.phase in SHOWN_PHASES else ""
        return f"the process is alive, but published nothing for {format_age(status.age_s)}{doing}"
    if status.state == "crashed" and not is_page_expected:
        return "the process is gone and left no page"
    return message
