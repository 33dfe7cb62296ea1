"""One message to people about a run."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from ...shared.text.harmless import one_line

Kind = Literal["alert", "finish", "crash", "stall"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ENVIRONMENT = "OPERANT_EVENT_"
MOST_CHARACTERS = 1000


@dataclass(frozen=True)
class Message:
    """`id` identifies what happened, whichever process sends the message. `text` is for people, and
    names the run. `alert` is the sort of an alert; `value` and `env_steps` are None where there are
    none. `time` is ISO 8601, in UTC.
    """

    id: str
    kind: Kind
    run: str
    name: str
    text: str
    state: str
    time: str
    alert: str = ""
    metric: str = ""
    value: float | None = None
    env_steps: int | None = None
    folder: str = ""
    host: str = ""

    @property
    def is_alert(self) -> bool:
        """One of many there may be; of the others a run has few."""
        return self.kind == "alert"

    def environment(self) -> dict[str, str]:
        """Environment variables for all fields, `OPERANT_EVENT_RUN` and so on; empty for None."""
        return {
            f"{ENVIRONMENT}{field.upper()}": "" if value is None else str(value)
            for field, value in asdict(self).items()
        }


def message_id(run: str, what: str) -> str:
    """Short, and the same for the same thing."""
    return hashlib.sha256(f"{run}\n{what}".encode(errors="replace")).hexdigest()[:16]


def readable(text: str) -> str:
    """A line that is harmless wherever it is shown, however long it was."""
    return one_line(text, MOST_CHARACTERS)
