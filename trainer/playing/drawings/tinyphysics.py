"""Lateral acceleration against its target, and the steering, along a route."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import Points, Scene, Shape, line, text
from ...envs.tinyphysics.constants import CONTROL_START, COST_END

TARGET, LATACCEL, STEER = range(3)
LATACCEL_PANE, STEER_PANE = (0.46, 0.98), (0.02, 0.36)  # lowest and highest y
LIMITS = (0.5, 1.0, 2.0, 5.0)


def scene(spec: object, states: NDArray[Any], selected: int) -> Scene:
    """`states` [rows, 3] are of the whole route, m/s2, m/s2 and steering; NaN where not known."""
    shapes = [line([(CONTROL_START, 0), (CONTROL_START, 1)], "ground")]
    panes = (
        ("lateral acceleration", "m/s2", LATACCEL_PANE, ((TARGET, "goal"), (LATACCEL, "body"))),
        ("steering", "", STEER_PANE, ((STEER, "force"),)),
    )
    for name, unit, (low, high), traces in panes:
        values = states[:, [column for column, _ in traces]]
        limit = next((x for x in LIMITS if x >= np.nanmax(np.abs(values), initial=0)), LIMITS[-1])
        middle, scale = (low + high) / 2, (high - low) / 2 / limit
        shapes.append(line([(0, middle), (COST_END, middle)], "ground"))
        for column, role in traces:
            shapes.append(line(trace(states[:, column], middle, scale), role))
        shapes.append(text(4, high + 0.005, f"{name}, +-{limit:g} {unit}".rstrip()))
    shapes += legend()
    return Scene((0, 0), (COST_END, 1.04), tuple(shapes), is_stretched=True)


def trace(values: NDArray[Any], middle: float, scale: float) -> Points:
    return np.column_stack([np.arange(len(values)), middle + scale * values])


def legend() -> list[Shape]:
    y = LATACCEL_PANE[1] + 0.005
    return [text(300, y, "target", "goal"), text(400, y, "car", "body")]
