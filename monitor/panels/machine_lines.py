"""What the machine does for a run, as lines."""

from __future__ import annotations

from collections.abc import Sequence

from ..look.formatting import UNKNOWN, format_percent
from ..look.lines import Line, fit, line_width
from ..runs.machine import GpuSample, MachineSample

_LABEL_WIDTH, _VALUE_WIDTH = 5, 16
_MIN_BAR_WIDTH = 6
_LEVELS = "▁▂▃▄▅▆▇█"


def draw_machine(samples: Sequence[MachineSample], width: int, height: int) -> list[Line]:
    """A row for each thing that can run full: how full, and how it went; oldest sample first."""
    if not samples:
        return [[("the trainer's process is not on this machine", "dim")]][:height]
    newest = samples[-1]
    cores = [(s.cpu_cores or 0.0) / s.num_cores for s in samples]
    cpu = UNKNOWN if newest.cpu_cores is None else f"{newest.cpu_cores:.1f} cores"
    memory = [s.memory_bytes / s.total_memory_bytes for s in samples]
    rows = [
        _row("cpu", f"{cpu} of {newest.num_cores}", cores, width),
        _row("ram", _bytes(newest.memory_bytes), memory, width),
    ]
    for place, gpu in enumerate(newest.gpus):
        past = [s.gpus[place] for s in samples if place < len(s.gpus)]
        rows += _gpu_rows(gpu, past, place if len(newest.gpus) > 1 else None, width)
    words = f"{newest.num_processes} processes, {newest.num_threads} threads"
    if newest.num_processes == 1:
        words = f"1 process, {newest.num_threads} threads"
    return [*rows, [(fit(words, width), "dim")]][:height]


def _gpu_rows(
    gpu: GpuSample, past: Sequence[GpuSample], number: int | None, width: int
) -> list[Line]:
    label = "gpu" if number is None else f"gpu{number}"
    rows = []
    if gpu.utilization_fraction is not None:
        shares = [sample.utilization_fraction or 0.0 for sample in past]
        heat = "" if gpu.temperature_c is None else f" {gpu.temperature_c:.0f}°C"
        rows.append(_row(label, format_percent(gpu.utilization_fraction) + heat, shares, width))
    if gpu.memory_bytes is not None and gpu.total_memory_bytes:
        shares = [(sample.memory_bytes or 0) / gpu.total_memory_bytes for sample in past]
        total = _bytes(gpu.total_memory_bytes)
        used = _bytes(gpu.memory_bytes).removesuffix(total[-4:])
        rows.append(_row("vram", f"{used} of {total}", shares, width))
    if gpu.power_w is not None:
        limit = gpu.power_limit_w or 0.0
        shares = [(sample.power_w or 0.0) / limit if limit else 0.0 for sample in past]
        of = f" of {limit:.0f}" if limit else ""
        rows.append(_row("power", f"{gpu.power_w:.0f}{of} W", shares, width))
    return rows


def _row(label: str, value: str, shares: Sequence[float], width: int) -> Line:
    """Label, value, and what is left of `width` as a small history, newest at the right."""
    line: Line = [
        (fit(label, _LABEL_WIDTH), "dim"),
        (fit(value, _VALUE_WIDTH), "strong"),
    ]
    room = width - line_width(line) - 1
    if room < _MIN_BAR_WIDTH:
        return line
    shown = list(shares)[-room:]
    levels = [min(max(round(share * len(_LEVELS)), 0), len(_LEVELS)) for share in shown]
    text = "".join(_LEVELS[level - 1] if level else "▁" for level in levels)
    is_full = bool(shown) and shown[-1] > 0.95 and label in ("ram", "vram")
    return [
        *line,
        (" " + " " * (room - len(text)), "text"),
        (text, "error" if is_full else "focus"),
    ]


def _bytes(count: float) -> str:
    """1.2 GiB, 512 MiB."""
    mebibytes = count / 2**20
    if mebibytes < 1000:
        return f"{mebibytes:.0f} MiB"
    gibibytes = mebibytes / 1024
    return f"{gibibytes:.{1 if gibibytes < 100 else 0}f} GiB"
