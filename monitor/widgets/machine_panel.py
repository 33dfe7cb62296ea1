"""The load of the machine and its GPUs. The most important lines come first, so that a low
pane shows them.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from ..render.columns import Column, draw_head, draw_row, fit_columns
from ..render.formatting import UNKNOWN, counted, format_bytes, format_percent
from ..render.lines import Line, boxed, fit, fit_line, line_width
from ..runs.machine.gpus import ALARMING
from ..runs.machine.machine import DiskSample, GpuProcess, GpuSample, MachineSample
from .pane import Pane

LABEL_WIDTH, VALUE_WIDTH = 6, 16
_WIDE_FROM, _WIDE_VALUE_WIDTH = 70, 36
MIN_HISTORY_WIDTH = 6
LEVELS = "▁▂▃▄▅▆▇█"
_FULL = 0.95
_CAN_RUN_FULL = ("ram", "vram", "all")


def row(label: str, value: str, shares: Sequence[float], width: int, more: str = "") -> Line:
    """A label, a value, and a small history in the rest of `width`, newest at the right. `more`
    follows the value if there is much room.
    """
    is_wide = width >= _WIDE_FROM
    value_width = _WIDE_VALUE_WIDTH if is_wide else VALUE_WIDTH
    line: Line = [
        (fit(label, LABEL_WIDTH), "dim"),
        (fit(value + more if is_wide else value, value_width), "strong"),
    ]
    room = width - line_width(line) - 1
    if room < MIN_HISTORY_WIDTH:
        return line
    is_full = bool(shares) and shares[-1] > _FULL and label in _CAN_RUN_FULL
    return [*line, (" ", "text"), *history(shares, room, "error" if is_full else "focus")]


def history(shares: Sequence[float], width: int, style: str = "focus") -> Line:
    """The newest of `shares`, at the right end of `width` cells."""
    text = "".join(level(share) for share in list(shares)[-width:])
    return [(" " * (width - len(text)), "text"), (text, style)]


def word_row(label: str, text: str, width: int, style: str = "strong") -> Line:
    """A label and text without a history, cut at `width`."""
    room = max(0, width - LABEL_WIDTH)
    return [(fit(label, LABEL_WIDTH), "dim"), (fit(text, room), style)]


def level(share: float) -> str:
    """A share from 0 to 1 as one cell that is filled to that height."""
    place = min(max(round(share * len(LEVELS)), 0), len(LEVELS))
    return LEVELS[place - 1] if place else LEVELS[0]


def format_of_total(used: float, total: float) -> str:
    """Text such as `5.0 of 16.0 GiB`, with the unit once if both have the same."""
    of = format_bytes(total)
    return f"{format_bytes(used).removesuffix(of[-4:])} of {of}"


Other = tuple[str, GpuProcess]  # a process of others, after the name of its GPU


def few_gpu_rows(samples: Sequence[MachineSample], width: int, most_rows: int) -> list[Line]:
    """Load, temperature and memory of each GPU: one row per GPU if there are several, or one row
    for all if there are more than `most_rows`.
    """
    gpus = samples[-1].gpus
    if len(gpus) > max(1, most_rows):
        return _all_together(samples, width)
    if len(gpus) > 1:
        return [_one_of_several(samples, place, width) for place in range(len(gpus))]
    rows = []
    for gpu in gpus:
        past = _past(samples, 0)
        if gpu.utilization_fraction is not None or gpu.temperature_c is not None:
            loads = [sample.utilization_fraction or 0.0 for sample in past]
            slows = "" if gpu.slowdown_c is None else f", slows down at {gpu.slowdown_c:.0f}°C"
            rows.append(row(_label(gpu, gpus), _load(gpu), loads, width, slows))
        rows += _memory_rows(gpu, past, width)
    return rows


def _one_of_several(samples: Sequence[MachineSample], place: int, width: int) -> Line:
    """One GPU in one row: as many of its figures as fit, then its load history."""
    gpus = samples[-1].gpus
    gpu = gpus[place]
    line: Line = [(fit(_label(gpu, gpus), LABEL_WIDTH), "dim")]
    figures = (
        (_load(gpu), 12),
        (_memory(gpu), 17),
        (_power(gpu), 14),
        (_clock(gpu), 18),
        (", ".join(gpu.throttled), 24),
    )
    for text, cells in figures:
        if line_width(line) + cells <= width:
            line.append((fit(text, cells), "strong"))
    room = width - line_width(line) - 1
    loads = [sample.utilization_fraction or 0.0 for sample in _past(samples, place)]
    if room >= MIN_HISTORY_WIDTH:
        line += [(" ", "text"), *history(loads, room)]
    return line


def _all_together(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """The mean load and the sum of memory of many GPUs."""
    means = []
    for sample in samples:
        loads = [gpu.utilization_fraction or 0.0 for gpu in sample.gpus]
        means.append(sum(loads) / max(1, len(loads)))
    count = len(samples[-1].gpus)
    rows = [row("gpus", f"{format_percent(means[-1])} of {count}", means, width)]
    held = [sum(gpu.memory_bytes or 0 for gpu in sample.gpus) for sample in samples]
    total = sum(gpu.total_memory_bytes or 0 for gpu in samples[-1].gpus)
    if total:
        shares = [used / total for used in held]
        rows.append(row("vram", format_of_total(held[-1], total), shares, width))
    return rows


def gpu_details(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """Power and its limit, clocks and what limits them, if there is one GPU. With several, their
    rows show these.
    """
    if len(samples[-1].gpus) != 1:
        return []
    (gpu,), past = samples[-1].gpus, _past(samples, 0)
    rows = []
    if gpu.power_w is not None:
        limit = gpu.power_limit_w or 0.0
        shares = [(sample.power_w or 0.0) / limit if limit else 0.0 for sample in past]
        rows.append(row("power", _power(gpu), shares, width))
    return [*rows, *_clock_rows(gpu, past, width)]


def gpu_troubles(sample: MachineSample) -> list[str]:
    """Problems of the GPUs, in words."""
    troubles = []
    for gpu in sample.gpus:
        words = [word for word in gpu.throttled if word in ALARMING]
        if words:
            heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c:.0f}°C"
            troubles.append(f"{_label(gpu, sample.gpus)} throttled: {', '.join(words)}{heat}")
    return troubles


def other_row(sample: MachineSample, width: int) -> list[Line]:
    """Other processes on the run's GPUs, with the name of the largest; empty if there are none."""
    others = _others(sample)
    if not others:
        return []
    label, first = others[0]
    words = [first.user or "?", first.name or str(first.pid)]
    if first.memory_bytes is not None:
        words.append(format_bytes(first.memory_bytes))
    if len(sample.gpus) > 1:
        words.append(f"on {label}")
    if len(others) > 1:
        words.append(f"+{len(others) - 1}")
    is_strange = any(process.user != sample.user for _, process in others)
    style = "warning" if is_strange else "strong"
    return [word_row("also", " ".join(words), width, style)]


def draw_others(sample: MachineSample, width: int, height: int) -> list[Line]:
    """A row for each process of others, with a heading; empty if it does not fit `height`."""
    others = _others(sample)
    if not others or height < 2:
        return []
    gpu = Column[Other]("", lambda other: other[0], 5)
    columns = [
        Column[Other]("user", lambda other: other[1].user or "?", 12),
        Column[Other]("pid", lambda other: str(other[1].pid), 8, align=">"),
        Column[Other]("memory", lambda other: format_bytes(other[1].memory_bytes), 9, align=">"),
        *([gpu] if len(sample.gpus) > 1 else []),
        Column[Other]("also on the GPU", lambda other: other[1].name or UNKNOWN, 4, 60),
    ]
    fitted = fit_columns(columns, width)
    lines = [draw_head(fitted)]
    for other in others[: height - 1]:
        style = "warning" if other[1].user != sample.user else "text"
        lines.append([(text, style) for text, _ in draw_row(fitted, other)])
    return [fit_line(line, width, "text") for line in lines]


def _others(sample: MachineSample) -> list[Other]:
    """Processes of others with the name of their GPU, the largest first."""
    found = [(_label(gpu, sample.gpus), one) for gpu in sample.gpus for one in gpu.others or ()]
    return sorted(found, key=lambda pair: -(pair[1].memory_bytes or 0))


def _past(samples: Sequence[MachineSample], place: int) -> list[GpuSample]:
    return [sample.gpus[place] for sample in samples if place < len(sample.gpus)]


def _label(gpu: GpuSample, gpus: Sequence[GpuSample]) -> str:
    """`gpu`, with its number if the machine may have several."""
    if len(gpus) == 1 and not gpu.index:
        return "gpu"
    return f"gpu{gpus.index(gpu) if gpu.index is None else gpu.index}"


def _load(gpu: GpuSample) -> str:
    heat = "" if gpu.temperature_c is None else f" {gpu.temperature_c:.0f}°C"
    return format_percent(gpu.utilization_fraction) + heat


def _memory(gpu: GpuSample) -> str:
    if gpu.memory_bytes is None or not gpu.total_memory_bytes:
        return UNKNOWN
    return format_of_total(gpu.memory_bytes, gpu.total_memory_bytes)


def _power(gpu: GpuSample) -> str:
    if gpu.power_w is None:
        return UNKNOWN
    of = f" of {gpu.power_limit_w:.0f}" if gpu.power_limit_w else ""
    return f"{gpu.power_w:.0f}{of} W"


def _clock(gpu: GpuSample) -> str:
    if gpu.clock_mhz is None:
        return UNKNOWN
    of = f" of {gpu.max_clock_mhz:.0f}" if gpu.max_clock_mhz else ""
    return f"{gpu.clock_mhz:.0f}{of} MHz"


def _memory_rows(gpu: GpuSample, past: Sequence[GpuSample], width: int) -> list[Line]:
    if gpu.memory_bytes is None or not gpu.total_memory_bytes:
        return []
    shares = [(sample.memory_bytes or 0) / gpu.total_memory_bytes for sample in past]
    return [row("vram", _memory(gpu), shares, width)]


def _clock_rows(gpu: GpuSample, past: Sequence[GpuSample], width: int) -> list[Line]:
    """The clock, with its history, or with the reason if something limits it."""
    if gpu.clock_mhz is None:
        return []
    most = gpu.max_clock_mhz or 0.0
    if gpu.throttled:
        return [word_row("clock", f"{_clock(gpu)}, {', '.join(gpu.throttled)}", width)]
    shares = [(sample.clock_mhz or 0.0) / most if most else 0.0 for sample in past]
    memory = f", memory {gpu.memory_clock_mhz:.0f}" if gpu.memory_clock_mhz else ""
    return [row("clock", _clock(gpu), shares, width, memory)]


NEARLY_FULL = 0.95  # share of memory or a disk above which a warning comes first
_MAP_ROWS = 2
_KEPT_ROWS = 3  # rows that GPUs leave for warnings and for what the run uses


_BAR_WIDTH, _COLUMN_WIDTH = 10, 24
_BUSY = 0.9


def core_map(loads: Sequence[float], width: int, most_rows: int) -> list[Line]:
    """A cell for each core in at most `most_rows`. If there is no room, each cell shows the busiest
    of a few neighbouring cores.
    """
    room = max(1, width - LABEL_WIDTH)
    each = max(1, math.ceil(len(loads) / (room * most_rows)))
    busiest = [max(loads[i : i + each]) for i in range(0, len(loads), each)]
    lines: list[Line] = []
    for start in range(0, len(busiest), room):
        label = "" if start else "cores"
        cells = "".join(map(level, busiest[start : start + room]))
        lines.append([(fit(label, LABEL_WIDTH), "dim"), (cells, "focus")])
    return lines


def core_bars(loads: Sequence[float], width: int, most_rows: int) -> list[Line]:
    """A numbered bar for each core, in columns under a heading; empty if they do not all fit."""
    columns = (width + 1) // _COLUMN_WIDTH
    num_rows = math.ceil(len(loads) / max(1, columns))
    if not loads or not columns or 1 + num_rows > most_rows:
        return []
    lines: list[Line] = [[] for _ in range(num_rows)]
    for core, load in enumerate(loads):
        cells = round(load * _BAR_WIDTH)
        lines[core % num_rows] += [
            (f"{core:>4} ", "dim"),
            ("━" * cells, "warning" if load > _BUSY else "focus"),
            ("─" * (_BAR_WIDTH - cells), "faint"),
            (f"{100 * load:>4.0f}%   ", "text"),
        ]
    return [[(fit("every core, whatever keeps it busy", width), "dim")], *lines]


def draw_machine(samples: Sequence[MachineSample], width: int, height: int) -> list[Line]:
    """A row for each resource: its use and its history. `samples` are oldest first."""
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
    """One row with all warnings; empty if there are none."""
    troubles = gpu_troubles(newest)
    used, total = newest.used_memory_bytes, newest.total_memory_bytes
    if used is not None and used > NEARLY_FULL * total:
        troubles.append(f"memory {format_percent(used / total)} full")
    disk = newest.disk
    if disk and disk.total_bytes and disk.free_bytes < (1 - NEARLY_FULL) * disk.total_bytes:
        troubles.append(f"disk: {format_bytes(disk.free_bytes)} left")
    return [[(fit(f"▲ {', '.join(troubles)}", width), "warning")]] if troubles else []


def _run_rows(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """Processor and memory use of the run itself."""
    newest = samples[-1]
    cores = [(s.cpu_cores or 0.0) / s.num_cores for s in samples]
    cpu = UNKNOWN if newest.cpu_cores is None else f"{newest.cpu_cores:.1f} cores"
    memory = [s.memory_bytes / s.total_memory_bytes for s in samples]
    return [
        row("cpu", f"{cpu} of {newest.num_cores}", cores, width),
        # A process that has ended uses nothing.
        row("ram", format_bytes(newest.memory_bytes or None), memory, width),
    ]


def _whole_rows(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """The memory that all programs of the machine use."""
    newest = samples[-1]
    if newest.used_memory_bytes is None:
        return []
    shares = [(s.used_memory_bytes or 0) / s.total_memory_bytes for s in samples]
    text = format_of_total(newest.used_memory_bytes, newest.total_memory_bytes)
    return [row("all", text, shares, width)]


def _disk_rows(disk: DiskSample | None, width: int) -> list[Line]:
    """Free space and rates of the disk; rates have their own row if one row is too narrow."""
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
    processes = "1 process" if newest.num_processes == 1 else f"{newest.num_processes} processes"
    words = f"{processes}, {counted(newest.num_threads, 'thread')}"
    return words if newest.load is None else f"{words}; load {newest.load:.1f}"


NUM_SAMPLES = 240


class MachinePanel(Pane):
    """CPU, memory and GPU of the trainer, sampled while somebody watches."""

    def __init__(self) -> None:
        super().__init__(id="machine")
        self._samples: deque[MachineSample] = deque(maxlen=NUM_SAMPLES)

    @property
    def has_samples(self) -> bool:
        return bool(self._samples)

    def show(self, sample: MachineSample | None) -> None:
        """Add a sample; None, once the process has gone, leaves what there is."""
        if sample:
            self._samples.append(sample)
            self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [("machine", "text")]
        gpus = self._samples[-1].gpus if self._samples else ()
        if gpus and width > 30:
            title.append((f"  {gpus[0].name}", "dim"))
        body = draw_machine(self._samples, width - 4, height - 2)
        return boxed(title, body, width, height, self.border)
