"""Functions and constants that the games leave open; `game.py` binds them.

A game makes its draws in the order of docs/minatar-rules.md ("All random draws"): the sticky one
first, at the start of every step.
"""

from __future__ import annotations

from ...jit.templates import declared, unbound

num_channels: int = unbound("channels of an observation")
action_numbers = unbound("the action of the game for each of the policy, [A] int32")


@declared
def draw_real(state, env):
    """The next draw of this step or reset: a float32 in [0, 1)."""


@declared
def draw_integer(state, env, low, high):
    """The next draw of this step or reset: an integer from `low` to `high`, both included."""
