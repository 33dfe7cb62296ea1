"""What a frame's head may hold, checked field by field: it comes from another machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from ...shared.runs.run_notes import MAX_TAGS, RunNotes
from ...shared.runs.status import RunStatus
from ...shared.text.harmless import harmless, one_line
from ..runs.machine.gpus import MAX_OTHERS
from ..runs.machine.machine import MachineSample
from ..runs.machine.tuning_advice import Knobs
from ..runs.reading.run_description import MAX_DIFF_LINES, MAX_SETTINGS, Description, Setting
from .frames import StreamError

MAX_METRICS, MAX_LINES = 1 << 14, 1000
MAX_CORES = 1 << 13
SHOWN_EXTRAS = 3  # fields of a newer operant that are shown as text

_SET_APART = ("run", "message")  # fields of a status that are filled in otherwise

Text = Annotated[str, AfterValidator(lambda text: one_line(text, 1000))]
# Of a console: what it is indented by has a meaning.
Line = Annotated[str, AfterValidator(lambda text: harmless(text[:1000].expandtabs(4)))]
Count = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
Measured = Annotated[float, Field(ge=-1e18, le=1e18, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]
AtLeastOne = Annotated[int, Field(ge=1, lt=1 << 63)]
Bytes = Annotated[int, Field(ge=0, lt=1 << 63)]
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class Message(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")


class StatusMessage(Message):
    """A `RunStatus`; a state that this operant does not know is kept as text, and so is what else a
    newer one says.
    """

    model_config = ConfigDict(strict=True, extra="allow")

    state: Text
    age_s: Seconds | None = None
    iteration: Count | None = None
    env_steps: Count | None = None
    env_steps_per_s: float | None = None
    progress_fraction: float | None = None
    eta_s: float | None = None
    metrics: dict[Text, float] = Field({}, max_length=MAX_METRICS)
    message: Text = ""
    phase: Text | None = None
    phase_s: Seconds | None = None
    phase_done: Count | None = None
    phase_total: Count | None = None
    phase_unit: Text = ""
    phase_left_s: Seconds | None = None

    def of_run(self, run: str) -> RunStatus:
        known = {field.name for field in dataclasses.fields(RunStatus)}.difference(_SET_APART)
        fields = {name: value for name, value in self if name in known}
        said = [self.message, *self._extras()]
        message = "; ".join(text for text in said if text)
        return RunStatus(**{**fields, "run": run, "message": message})

    def _extras(self) -> list[str]:
        extras = (self.model_extra or {}).items()
        named = [
            one_line(f"{name}: {value}", 80)
            for name, value in extras
            if isinstance(value, (str, float, bool)) and name not in _SET_APART
        ]
        return named[:SHOWN_EXTRAS]


class PageMessage(Message):
    """`identity` is a `PageIdentity`; a partial page is followed by more of it."""

    identity: tuple[Count, ...] = Field(max_length=8, strict=False)
    bytes: Count
    is_partial: bool = False


class KnobsMessage(Message):
    """`Knobs`; fields that only a newer operant knows are left out."""

    is_on_gpu: bool = False
    collect: Text = ""
    learn_on_idle_gpu: Text = ""
    idle_gpu: Text = ""
    evaluate: Text = ""
    checkpoint: Text = ""

    def knobs(self) -> Knobs:
        return Knobs(**dict(self))


class NotesMessage(Message):
    """`RunNotes`, as `as_json` says them."""

    name: Text = ""
    note: Text = ""
    tags: list[Text] = Field([], max_length=MAX_TAGS)
    archived: bool = False

    def notes(self) -> RunNotes:
        return RunNotes(self.name, self.note, tuple(self.tags), self.archived)


class DescriptionMessage(Message):
    """`Description`; a setting is a list of key, value, default or None, and source."""

    settings: list[list[Text | None]] = Field([], max_length=MAX_SETTINGS)
    started: list[list[Text | None]] = Field([], max_length=MAX_SETTINGS)
    has_defaults: bool = False
    diff: list[Line] = Field([], max_length=MAX_DIFF_LINES)
    packages: dict[Text, Text] = Field({}, max_length=MAX_SETTINGS)

    def description(self) -> Description:
        return Description(
            tuple(_settings(self.settings)),
            tuple(_settings(self.started)),
            self.has_defaults,
            tuple(self.diff),
            self.packages,
        )


def _settings(rows: list[list[str | None]]) -> Iterator[Setting]:
    """What is not said as it should be is left out."""
    for key, value, default, source in (each for each in rows if len(each) == 4):
        if key is not None and value is not None:
            yield Setting(key, value, default, source or "")


class HeadMessage(Message):
    status: StatusMessage
    run: Text = ""
    is_page_expected: bool = True
    page: PageMessage | None = None
    console: list[Line] | None = Field(None, max_length=MAX_LINES)
    alerts: list[Line] | None = Field(None, max_length=MAX_LINES)
    is_recorded: bool | None = None
    knobs: KnobsMessage | None = None
    notes: NotesMessage | None = None
    description: DescriptionMessage | None = None
    num_media: Annotated[int, Field(ge=0, lt=1 << 31)] = 0


class _GpuProcessMessage(Message):
    pid: Count
    user: Text = ""
    name: Text = ""
    memory_bytes: Bytes | None = None


class _GpuMessage(Message):
    name: Text
    utilization_fraction: Share | None = None
    memory_bytes: Bytes | None = None
    total_memory_bytes: Bytes | None = None
    power_w: Measured | None = None
    power_limit_w: Measured | None = None
    temperature_c: Measured | None = None
    index: Count | None = None
    slowdown_c: Measured | None = None
    clock_mhz: Measured | None = None
    max_clock_mhz: Measured | None = None
    memory_clock_mhz: Measured | None = None
    throttled: list[Text] = Field([], max_length=16)
    others: list[_GpuProcessMessage] | None = Field(None, max_length=MAX_OTHERS)


class _DiskMessage(Message):
    free_bytes: Bytes
    total_bytes: Bytes
    read_bytes_per_s: Measured | None = None
    write_bytes_per_s: Measured | None = None
    is_run_alone: bool = False


class _MachineMessage(Message):
    num_processes: Count
    num_threads: Count
    memory_bytes: Bytes
    total_memory_bytes: AtLeastOne
    num_cores: AtLeastOne
    cpu_cores: Measured | None = None
    gpus: list[_GpuMessage] = Field([], max_length=64)
    core_loads: list[Share] = Field([], max_length=MAX_CORES)
    load: Measured | None = None
    used_memory_bytes: Bytes | None = None
    disk: _DiskMessage | None = None
    user: Text = ""


def read_head(head: Mapping[str, Any]) -> HeadMessage:
    """Raises StreamError, one line, where a field has the wrong type or does not fit."""
    try:
        return HeadMessage.model_validate(dict(head))
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError) -> StreamError:
    """The first thing that is wrong, in one line."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return StreamError(one_line(f"the stream's {where} does not hold: {first['msg']}", 200))


def read_machine(said: Any) -> MachineSample | None:
    """None where the process is gone, or another version says it in another way."""
    try:
        message = _MachineMessage.model_validate(said)
    except ValidationError:
        return None
    return MachineSample.from_json(message.model_dump())
