"""The GPUs of a run as lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..look.formatting import UNKNOWN, format_bytes, format_percent
from ..look.lines import Line, fit, line_width
from ..runs.gpus import ALARMING
from ..runs.machine import GpuProcess, GpuSample, MachineSample
from .machine_rows import (
    LABEL_WIDTH,
    MIN_HISTORY_WIDTH,
    format_of_total,
    history,
    row,
    word_row,
)

_USER_WIDTH, _PID_WIDTH, _MEMORY_WIDTH = 12, 9, 10


def few_gpu_rows(samples: Sequence[MachineSample], width: int, most_rows: int) -> list[Line]:
    """What matters most of each GPU: load, heat, memory; of several a row each, or where those are
    more than `most_rows`, what all have together.
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
    """A GPU in a row: as many of its figures as there is room for, then how busy it was."""
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
        shares = [each / total for each in held]
        rows.append(row("vram", format_of_total(held[-1], total), shares, width))
    return rows


def gpu_details(samples: Sequence[MachineSample], width: int) -> list[Line]:
    """Power against its limit, clocks and what holds them down, of a GPU that is the only one: of
    several these stand in their rows.
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
    """What is wrong with the GPUs, in words."""
    troubles = []
    for gpu in sample.gpus:
        words = [word for word in gpu.throttled if word in ALARMING]
        if words:
            heat = "" if gpu.temperature_c is None else f" at {gpu.temperature_c:.0f}°C"
            troubles.append(f"{_label(gpu, sample.gpus)} throttled: {', '.join(words)}{heat}")
    return troubles


def other_row(sample: MachineSample, width: int) -> list[Line]:
    """Who else is on the GPUs of the run, the largest by name; nothing where nobody is."""
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
    """A row for each process of others, with a head; nothing where it does not fit `height`."""
    others = _others(sample)
    if not others or height < 2:
        return []
    gpu_width = 6 if len(sample.gpus) > 1 else 0
    head = f"{'user':{_USER_WIDTH}}{'pid':>{_PID_WIDTH}}{'memory':>{_MEMORY_WIDTH}}  "
    lines: list[Line] = [[(fit(head + f"{'':{gpu_width}}also on the GPU", width), "dim")]]
    for label, one in others[: height - 1]:
        held = UNKNOWN if one.memory_bytes is None else format_bytes(one.memory_bytes)
        user = fit(one.user or "?", _USER_WIDTH)
        numbers = f"{one.pid:>{_PID_WIDTH}}{held:>{_MEMORY_WIDTH}}  "
        place = f"{label:{gpu_width}}" if gpu_width else ""
        style = "warning" if one.user != sample.user else "text"
        lines.append([(fit(f"{user}{numbers}{place}{one.name or UNKNOWN}", width), style)])
    return lines


def _others(sample: MachineSample) -> list[tuple[str, GpuProcess]]:
    """With the GPU of each, the largest first."""
    found = [(_label(gpu, sample.gpus), one) for gpu in sample.gpus for one in gpu.others or ()]
    return sorted(found, key=lambda pair: -(pair[1].memory_bytes or 0))


def _past(samples: Sequence[MachineSample], place: int) -> list[GpuSample]:
    return [sample.gpus[place] for sample in samples if place < len(sample.gpus)]


def _label(gpu: GpuSample, gpus: Sequence[GpuSample]) -> str:
    """`gpu`, with its number on the machine where that could be another."""
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
    """The clock, with its history or, where something holds it down, with what."""
    if gpu.clock_mhz is None:
        return []
    most = gpu.max_clock_mhz or 0.0
    if gpu.throttled:
        return [word_row("clock", f"{_clock(gpu)}, {', '.join(gpu.throttled)}", width)]
    shares = [(sample.clock_mhz or 0.0) / most if most else 0.0 for sample in past]
    memory = f", memory {gpu.memory_clock_mhz:.0f}" if gpu.memory_clock_mhz else ""
    return [row("clock", _clock(gpu), shares, width, memory)]
