"""What the machine does for a run, as lines: the most important first, as many as there is room
for, so that a low pane still says what a high one says first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..look.formatting import UNKNOWN, format_bytes, format_percent
from ..look.lines import Line, fit
from ..runs.machine import DiskSample, MachineSample
from .core_lines import core_bars, core_map
from .gpu_lines import draw_others, few_gpu_rows, gpu_details, gpu_troubles, other_row
from .machine_rows import LABEL_WIDTH, format_of_total, row, word_row

NEARLY_FULL = 0.95  # of memory or a disk, from where it is said first of all
_MAP_ROWS = 2
_KEPT_ROWS = 3  # however many GPUs there are: for what is wrong, and for what the run uses


def draw_machine(samples: Sequence[MachineSample], width: int, height: int) -> list[Line]:
    """A row for each thing that can run full: how full, and how it went; oldest sample first."""
    if not samples:
        return [[("the trainer's process is not on this machine", "dim")]][:height]
    newest = samples[-1]
    first = [
        *_trouble_rows(newest, width),
        *few_gpu_rows(samples, width, height - _KEPT_ROWS),
        *other_row(newest, width),
        *_run_rows(samples, width),
        *gpu_details(samples, width),
    ]
    last = [
        *_disk_rows(newest.disk, width),
        *_whole_rows(samples, width),
        [(fit(_process_words(newest), width), "dim")],
    ]
    num_left = height - len(first) - len(last)
    others = draw_others(newest, width, num_left)
    bars = core_bars(newest.core_loads, width, num_left - len(others))
    cores = [] if bars else core_map(newest.core_loads, width, _MAP_ROWS)
    return [*first, *cores, *last, *others, *bars][:height]


def _trouble_rows(newest: MachineSample, width: int) -> list[Line]:
    """One row of what is wrong, none where nothing is."""
    troubles = gpu_troubles(newest)
    used, total = newest.used_memory_bytes, newest.total_memory_bytes
    if used is not None and used > NEARLY_FULL * total:
        troubles.append(f"memory {format_percent(used / total)} full")
    disk = newest.disk
    if disk and disk.total_bytes and disk.free_bytes < (1 - NEARLY_FULL) * disk.total_bytes:
        troubles.append(f"disk: {format_bytes(disk.free_bytes)} left")
    return [[(fit(f"▲ {', '.join(troubles)}", width), "warning")]] if troubles else []


def _run_rows(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """What the run itself uses of processor and memory."""
    newest = samples[-1]
    cores = [(s.cpu_cores or 0.0) / s.num_cores for s in samples]
    cpu = UNKNOWN if newest.cpu_cores is None else f"{newest.cpu_cores:.1f} cores"
    memory = [s.memory_bytes / s.total_memory_bytes for s in samples]
    return [
        row("cpu", f"{cpu} of {newest.num_cores}", cores, width),
        # A process that has ended has none.
        row("ram", format_bytes(newest.memory_bytes or None), memory, width),
    ]


def _whole_rows(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """What all programs of the machine use of its memory."""
    newest = samples[-1]
    if newest.used_memory_bytes is None:
        return []
    shares = [(s.used_memory_bytes or 0) / s.total_memory_bytes for s in samples]
    text = format_of_total(newest.used_memory_bytes, newest.total_memory_bytes)
    return [row("all", text, shares, width)]


def _disk_rows(disk: DiskSample | None, width: int) -> list[Line]:
    """Space and rates; rates in a row of their own where one is too narrow."""
    if disk is None:
        return []
    space = f"{format_of_total(disk.free_bytes, disk.total_bytes)} free"
    read, written = disk.read_bytes_per_s, disk.write_bytes_per_s
    if read is None or written is None:
        return [word_row("disk", space, width)]
    whose = "the run " if disk.is_run_alone else ""
    read_text, written_text = f"{format_bytes(read)}/s", f"{format_bytes(written)}/s"
    whole = f"{space}, {whose}reads {read_text}, writes {written_text}"
    if LABEL_WIDTH + len(whole) <= width:
        return [word_row("disk", whole, width)]
    short = f"{whose}r {read_text} w {written_text}"
    return [word_row("disk", space, width), word_row("", short, width)]


def _process_words(newest: MachineSample) -> str:
    words = f"{newest.num_processes} processes, {newest.num_threads} threads"
    if newest.num_processes == 1:
        words = f"1 process, {newest.num_threads} threads"
    return words if newest.load is None else f"{words}; load {newest.load:.1f}"
