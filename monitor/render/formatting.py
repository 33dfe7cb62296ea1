"""Numbers and times as people read them. Nothing else in the monitor picks digits, but
`shared/text/short_numbers.py` for it and the trainer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from ...shared.text.short_numbers import PREFIXES, exponent_of, scientific, short_number
from ...shared.text.short_numbers import format_si as format_si

UNKNOWN = "-"


def format_count(count: float | None) -> str:
    """A whole number of things: 9999, 12.3k, 4.19M."""
    if count is None or not math.isfinite(count):
        return UNKNOWN
    return f"{count:.0f}" if abs(count) < 10_000 else format_si(count)


def counted(count: int, noun: str) -> str:
    """`1 row`, `12.3k rows`."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def format_bytes(count: float | None) -> str:
    """How much room: 812 B, 4.2 KiB, 512 MiB, 1.2 GiB."""
    if count is None or not math.isfinite(count):
        return UNKNOWN
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        count /= 1024
        if count < 1000 or unit == "TiB":
            break
    is_fine = count < (100 if unit in ("GiB", "TiB") else 10)
    return f"{count:.{1 if is_fine else 0}f} {unit}"


def format_rate(per_s: float | None) -> str:
    """Things a second: 1.23M/s."""
    if per_s is None or not math.isfinite(per_s):
        return UNKNOWN
    return f"{format_si(per_s)}/s"


def format_value(value: float | None) -> str:
    """The value of any metric, as `short_number`."""
    return UNKNOWN if value is None else short_number(value)


def format_difference(value: float | None) -> str:
    """A value less another: +12.30, -0.0040."""
    text = format_value(value)
    return f"+{text}" if value is not None and value > 0 else text


def format_relative(value: float | None, reference: float | None) -> str:
    """How far a value is above (+) or below (-) a reference, in percent of its size: +12.5%."""
    if value is None or not reference or not math.isfinite(value - reference):
        return UNKNOWN
    percent = 100 * (value - reference) / abs(reference)
    if not math.isfinite(percent):
        return UNKNOWN
    return (
        f"{percent:+.1f}%"
        if abs(percent) < 1000
        else f"{'+-'[percent < 0]}{format_si(abs(percent))}%"
    )


def format_written(value: float | None, width: int = 10) -> str:
    """A value of a snapshot, where NaN means that it was never written; with fewer digits where
    it would be wider than `width`, so that nothing cuts its exponent off.
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    text = format_value(value)
    decimals = len(text.partition(".")[2]) - (len(text) - width)
    if len(text) > width and "e" not in text and decimals > 0:
        return f"{value:.{decimals}f}"
    shorter = (scientific(value, decimals) for decimals in (2, 1, 0))
    return text if len(text) <= width else next((s for s in shorter if len(s) <= width), text)


def format_percent(fraction: float | None) -> str:
    """A share of a whole: 62.1%. Nothing but all of it reads 100%, nothing but none of it 0%."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    if 0 < fraction < 0.0005:
        return "<0.1%"
    if 0.9995 <= fraction < 1:
        return "99.9%"
    return f"{100 * fraction:.{0 if fraction in (0, 1) else 1}f}%"


# A phase worth a word: collecting and learning take turns faster than one could read.
SHOWN_PHASES = frozenset({"compiling", "evaluating", "saving", "restoring", "waiting"})


def format_phase(name: str, done: int | None, total: int | None, unit: str) -> str:
    """`evaluating 37 of 100 episodes`; as much of it as is known."""
    if done is None:
        return name
    count = f"{done} of {total}" if total is not None else str(done)
    return f"{name} {count} {unit}".rstrip()


def format_phase_time(elapsed_s: float, left_s: float | None) -> str:
    """`31s, about 20s left`: since when a phase lasts, and what is left where it is known."""
    elapsed, left = format_duration(elapsed_s) if elapsed_s >= 1 else "", format_left(left_s)
    return ", ".join(filter(None, [elapsed, left and f"about {left}"]))


def format_left(left_s: float | None) -> str:
    """`20s left`; empty where no time is known, or less than a second of it remains."""
    is_known = left_s is not None and 1 <= left_s < math.inf
    return f"{format_duration(left_s)} left" if is_known else ""


def format_duration(seconds: float | None) -> str:
    """Whole seconds in the two largest units that matter: 42s, 3m 12s, 2h 05m, 3d 04h."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return UNKNOWN
    whole = math.floor(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    if whole < 100 * 86_400:
        return f"{whole // 86_400}d {whole % 86_400 // 3600:02d}h"
    return f"{format_count(whole // 86_400)}d"


def format_age(seconds: float | None) -> str:
    """How long ago: <1s, 12s, 3m 12s. Calm for what comes several times a second."""
    if seconds is not None and 0 <= seconds < 1:
        return "<1s"
    return format_duration(seconds)


def format_short_time(seconds: float | None) -> str:
    """How long a part of an iteration took: 4.00µs, 31.2ms, 1.23s, 3m 12s."""
    if seconds is None or not math.isfinite(seconds):
        return UNKNOWN
    if abs(seconds) >= 99.95:
        return format_duration(seconds)
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if abs(seconds) * factor >= 0.9995:
            return format_si(seconds * factor) + unit
    return "0s"


def format_clock(wall_ns: int) -> str:
    """The local time of day: 12:31:05."""
    try:
        return time.strftime("%H:%M:%S", time.localtime(wall_ns / 1e9))
    except (OverflowError, OSError, ValueError):
        return UNKNOWN


def format_ticks(ticks: Sequence[float], step: float) -> list[str]:
    """Labels of the ticks of one axis, all with the digits that multiples of `step` ask for."""
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest == 0:
        return ["0" for _ in ticks]
    num_digits = 1 + max(0, exponent_of(largest) - exponent_of(step))
    if largest < 1e-3 or exponent_of(largest) >= 3 * len(PREFIXES):
        return [scientific(tick, num_digits - 1) for tick in ticks]
    if largest < 10_000 or num_digits > 6:
        decimals = max(0, -exponent_of(step))
        return [f"{tick:.{decimals}f}" if tick else "0" for tick in ticks]
    place = exponent_of(largest) // 3
    decimals = max(0, 3 * place - exponent_of(step))
    texts = [f"{tick / 1000.0**place:.{decimals}f}" for tick in ticks]
    return [f"{text}{PREFIXES[place]}" if float(text) else "0" for text in texts]


def log_tick_label(power: float) -> str:
    """The label of ten to the `power` on an axis of powers: 1e-4, 0.02, 5, 200, 10k, 1e21."""
    exponent = math.floor(power + 1e-9)
    mantissa = round(10 ** (power - exponent), 2)
    if -4 < exponent < 4:
        return f"{mantissa * 10.0**exponent:.6f}".rstrip("0").rstrip(".")
    if 4 <= exponent < 3 * len(PREFIXES):
        return f"{mantissa * 10.0 ** (exponent % 3):.3g}{PREFIXES[exponent // 3]}"
    return f"{mantissa:g}e{exponent}"
