"""What a frame of a list of runs may hold, checked: it comes from another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from ..runs.runs_poller import RunRow
from .host import RemoteName
from .messages import Measured, Message, NotesMessage, StatusMessage, Text, refusal
from .run_elsewhere import RunElsewhere

MAX_ROWS = 1 << 14  # of a machine; what is more is left out
MAX_RETURNS = 1 << 12
MAX_KEYS = 1 << 10  # of a run's configuration


class RowMessage(Message):
    """A `RunRow`; without `config` where that is as it was."""

    run: Text = Field(min_length=1)
    status: StatusMessage | None = None
    is_page_expected: bool = True
    device: Text = ""
    notes: NotesMessage = NotesMessage()
    returns: list[Measured] = Field([], max_length=MAX_RETURNS)
    config: dict[Text, bool | int | float | Text] | None = Field(None, max_length=MAX_KEYS)

    def row(self, host: str, looked_s: float, before: RunRow | None) -> RunRow:
        run = before.run if before else RunElsewhere(RemoteName(host, self.run))
        known = before.config if before else {}
        return RunRow(
            run=run,
            status=self.status.of_run(run.id) if self.status else None,
            is_page_expected=self.is_page_expected,
            looked_s=looked_s,
            device=self.device,
            config=known if self.config is None else self.config,
            notes=self.notes.notes(),
            returns=tuple(self.returns),
            host=host,
        )


class ListMessage(Message):
    """What changed in the list: `rows` that are new or others than before, runs that are `gone`."""

    rows: list[RowMessage] = Field([], max_length=MAX_ROWS)
    gone: list[Text] = Field([], max_length=MAX_ROWS)
    is_complete: bool = True


def read_list(head: Mapping[str, Any]) -> ListMessage:
    """Raises StreamError, one line, where a field has the wrong type or does not fit."""
    try:
        return ListMessage.model_validate(dict(head))
    except ValidationError as error:
        raise refusal(error) from None
