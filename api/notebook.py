"""How a run looks in a notebook: its state and the curve of its returns, as HTML."""

from __future__ import annotations

import html
import math

import numpy as np
from numpy.typing import NDArray

from ..commands.helpers.status_lines import facts_of, status_lines
from ..monitor.export.frame import frame
from ..shared.errors import PageError
from ..shared.runs.run_folder import Run
from ..shared.runs.status import read_status
from ..shared.text.short_numbers import short_number

CHARTED = ("episode/return", "evaluation/return")  # the first that a run has
MOST_POINTS = 400
WIDTH, HEIGHT, MARGIN = 520, 160, 18


def run_html(run: Run) -> str:
    """The lines of `operant status`, and a curve over env steps."""
    text = "\n".join(status_lines(read_status(run), run.notes(), facts_of(run)))
    return f"<b>{html.escape(run.id)}</b>{_curve_of(run)}<pre>{html.escape(text)}</pre>"


def _curve_of(run: Run) -> str:
    """Empty where the run has published no returns."""
    try:
        rows = frame(run)
    except PageError:
        return ""
    for name in CHARTED:
        if name in rows:
            points = rows[["env_steps", name]].dropna()
            if len(points) > 1:
                x, y = points.to_numpy(np.float64).T
                return _svg(x, y, name)
    return ""


def _svg(x: NDArray[np.float64], y: NDArray[np.float64], name: str) -> str:
    low, high, last = float(y.min()), float(y.max()), x[-1]
    size = math.ceil(len(x) / MOST_POINTS)
    starts = np.arange(0, len(x), size)
    counts = np.diff([*starts, len(x)])
    x, y = (np.add.reduceat(values, starts) / counts for values in (x, y))
    across = MARGIN + (x - x[0]) / ((x[-1] - x[0]) or 1) * (WIDTH - 2 * MARGIN)
    up = HEIGHT - MARGIN - (y - low) / ((high - low) or 1) * (HEIGHT - 2 * MARGIN)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    words = f"{name}: {short_number(low)} to {short_number(high)}, {last:,.0f} env steps"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'style="display:block;font:12px sans-serif">'
        f'<text x="{MARGIN}" y="12" fill="currentColor">{html.escape(words)}</text>'
        f'<polyline points="{line}" fill="none" stroke="#2f7fd6" stroke-width="1.5"/></svg>'
    )
