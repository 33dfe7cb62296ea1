"""Curricula: how many robots and objects a scenario has, by how far the run is.

The stages lie in the state, and `CLOCK` counts the decisions of its world over all episodes: so
each world knows at its own resets where it is, without the host, and the shapes stay as they are.
"""

from __future__ import annotations

from .layout import CLOCK, NUM_STAGES, UNTIL, stage_row


def stage_now(state, env):
    """The first stage that is not over; the last one never is."""
    stage = 0
    last = int(state[NUM_STAGES, env]) - 1
    while stage < last and state[CLOCK, env] >= state[stage_row(stage) + UNTIL, env]:
        stage += 1
    return stage
