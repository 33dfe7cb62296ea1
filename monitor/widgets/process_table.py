"""The processes of this machine as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import psutil
from textual.binding import Binding, BindingType
from textual.message import Message

from ...shared.runs.run_folder import Run
from ..render.formatting import UNKNOWN, format_bytes
from ..render.lines import Line, fit, fit_line, fit_middle
from ..runs.list.run_values import STAMP
from ..runs.machine.process_order import Place
from ..runs.machine.processes import ProcessRow
from .row_list import RowList

# The width of every column but the last, with the space that ends it.
_WIDTHS = {"pid": 8, "user": 9, "cpu": 7, "memory": 9, "gpu": 9, "state": 11, "run": 14}
_LEFT_OUT_FIRST = ("state", "user", "gpu", "run")  # on a narrow screen
_MARK_WIDTH, _MIN_COMMAND_WIDTH, _MAX_RUN_WIDTH = 2, 18, 30
_AT_THE_RIGHT = ("pid", "cpu", "memory", "gpu")
_ODD_STATES = (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP, psutil.STATUS_ZOMBIE)


def columns_of(width: int, has_gpus: bool) -> dict[str, int]:
    """The columns that fit into `width` cells, and how wide each is."""
    cells = {name: n for name, n in _WIDTHS.items() if has_gpus or name != "gpu"}
    for name in _LEFT_OUT_FIRST:
        if _MARK_WIDTH + sum(cells.values()) + _MIN_COMMAND_WIDTH > width:
            cells.pop(name, None)
    room = width - _MARK_WIDTH - sum(cells.values()) - _MIN_COMMAND_WIDTH
    if "run" in cells:
        cells["run"] = min(cells["run"] + room // 2, _MAX_RUN_WIDTH)
    return {**cells, "command": max(0, width - _MARK_WIDTH - sum(cells.values()))}


def draw_head(width: int, has_gpus: bool, order: str, is_reversed: bool) -> Line:
    """The names of the columns; that of the order stands out, with the way it goes."""
    line: Line = [(" " * _MARK_WIDTH, "dim")]
    for name, cells in columns_of(width, has_gpus).items():
        mark = ("↑" if is_reversed else "↓") if name == order else ""
        text = f"{'cpu %' if name == 'cpu' else name}{mark}"
        line.append((_cell(name, text, cells), "focus" if mark else "dim"))
    return fit_line(line, width, "dim")


def draw_row(
    place: Place, run: Run | None, width: int, has_gpus: bool, is_selected: bool = False
) -> Line:
    """One process. ● marks those of `run`, ○ those of other runs."""
    row, prefix = place.row, "cursor_" if is_selected else ""
    mark, style = " ", "dim"
    if row.member:
        mark, style = ("●", "focus") if row.member.run == run else ("○", "done")
    texts = {
        "pid": str(row.pid),
        "user": row.user,
        "cpu": UNKNOWN if row.cpu_cores is None else f"{100 * row.cpu_cores:.1f}",
        "memory": format_bytes(row.memory_bytes),
        "gpu": format_bytes(row.gpu_bytes) if row.gpu_bytes else "",
        "state": row.state,
        "command": place.branch + re.sub(r"^/\S*/", "", row.command),  # without the folder
    }
    styles = {
        "run": style,
        "user": "dim",
        "state": "warning" if row.state in _ODD_STATES else "dim",
        "command": "strong" if is_selected else "text",
    }
    line: Line = [("▌" if is_selected else " ", f"{prefix}focus"), (mark, f"{prefix}{style}")]
    for name, cells in columns_of(width, has_gpus).items():
        text = _run_text(row, cells - 1) if name == "run" else texts[name]
        line.append((_cell(name, text, cells), f"{prefix}{styles.get(name, 'text')}"))
    return fit_line(line, width, f"{prefix}text")


def _run_text(row: ProcessRow, width: int) -> str:
    """`worker cart_pole-ppo-k3f9`."""
    if row.member is None:
        return ""
    name = fit_middle(STAMP.sub("", row.member.run_name), width - len(row.member.role) - 1)
    return f"{row.member.role} {name}"


def _cell(name: str, text: str, cells: int) -> str:
    return fit(text, cells - 1, ">" if name in _AT_THE_RIGHT else "<") + " "


class ProcessTable(RowList):
    """A row for each process. One that is selected below the top stays so wherever it moves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "select a process"),
        Binding("down,j", "move(1)", "select a process"),
        Binding("pageup", "move_pages(-1)", "a page up or down"),
        Binding("pagedown", "move_pages(1)", "a page up or down"),
        Binding("home,g", "move(-100000)", "the first, the last process"),
        Binding("end,G", "move(100000)", "the first, the last process"),
    ]

    class Opened(Message):
        """Somebody clicked the selected process."""

    class Ordered(Message):
        """Somebody wants the list by `order`."""

        def __init__(self, order: str) -> None:
            super().__init__()
            self.order = order

    def __init__(self, run: Run | None) -> None:
        super().__init__("processes")
        self._run = run
        self._places: Sequence[Place] | None = None
        self._order = ("cpu", False)
        self._has_gpus = False

    def show(self, places: Sequence[Place], order: tuple[str, bool], has_gpus: bool) -> None:
        """Draw `places`, which are in `order`: a column, and whether the other way round."""
        if self._place == 0 and places:  # the top stays selected, whatever comes there
            self.selected = places[0].row.process
        self._places, self._order, self._has_gpus = places, order, has_gpus
        self.show_keys([place.row.process for place in places])

    @property
    def row(self) -> ProcessRow | None:
        """The process that is selected."""
        rows = (place.row for place in self._places or ())
        return next((row for row in rows if row.process == self.selected), None)

    def draw(self, width: int, height: int) -> list[Line]:
        if self._places is None:
            return [[], [("   looking for processes", "dim")]]
        if not self._places:
            return [
                [],
                [("   No process fits the filter.", "strong")],
                [("   esc drops it", "dim")],
            ]
        return self.draw_rows(width, height)

    def draw_row_at(self, place: int, width: int, is_selected: bool) -> Line:
        assert self._places
        return draw_row(self._places[place], self._run, width, self._has_gpus, is_selected)

    def draw_head_row(self, width: int) -> Line:
        return draw_head(width, self._has_gpus, *self._order)

    def action_open(self) -> None:
        self.post_message(self.Opened())

    def click_head(self, column: int) -> None:
        start = _MARK_WIDTH
        for name, cells in columns_of(self.size.width - 1, self._has_gpus).items():
            if start <= column < start + cells:
                self.post_message(self.Ordered(name))
            start += cells
