"""What a frame of a list of runs may hold, checked: it comes from another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError

from ...shared.text.harmless import one_line
from ..runs.list.runs_poller import RunRow
from .host import RemoteName
from .messages import Measured, Message, NotesMessage, StatusMessage, Text, refusal
from .row_bounds import (
    MAX_KEYS,
    MAX_METRICS,
    MAX_RETURNS,
    MAX_ROWS,
    NAME_CHARACTERS,
    VALUE_CHARACTERS,
    bytes_of,
    plain_value,
)
from .run_elsewhere import RunElsewhere


def _first(most: int) -> Callable[[Any], Any]:
    """What is beyond so many is dropped before anything of it is looked at."""

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return dict(islice(value.items(), most))
        return value[:most] if isinstance(value, list) else value

    return cut


def _is_plain(value: Any) -> Any:
    return plain_value(value) if isinstance(value, int) else value


_Name = Annotated[str, AfterValidator(lambda text: one_line(text, NAME_CHARACTERS))]
_Short = Annotated[str, AfterValidator(lambda text: one_line(text, VALUE_CHARACTERS))]
_Value = Annotated[bool | int | float | _Short, BeforeValidator(_is_plain)]


class _RowStatusMessage(StatusMessage):
    metrics: Annotated[dict[_Name, float], BeforeValidator(_first(MAX_METRICS))] = Field({})


class RowMessage(Message):
    """A `RunRow`; without `config` where that is as it was."""

    run: Text = Field(min_length=1)
    status: _RowStatusMessage | None = None
    is_page_expected: bool = True
    device: Text = ""
    notes: NotesMessage = NotesMessage()
    returns: Annotated[list[Measured], BeforeValidator(_first(MAX_RETURNS))] = Field([])
    config: Annotated[dict[_Short, _Value] | None, BeforeValidator(_first(MAX_KEYS))] = None

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


def row_bytes(row: RunRow) -> int:
    """What a row takes in memory, about."""
    metrics = row.status.metrics if row.status else {}
    return bytes_of(metrics, row.config) + sum(map(len, row.notes.tags)) + len(row.returns) * 32


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
