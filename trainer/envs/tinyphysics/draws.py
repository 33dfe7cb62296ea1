"""The random numbers of the reference: one uniform double a step, from NumPy's legacy generator."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .constants import CONTEXT_STEPS, NUM_SEEDS


def episode_seed(path: str) -> int:
    """The seed of an episode along the route that the reference knows as `path`."""
    return int(hashlib.md5(path.encode(), usedforsecurity=False).hexdigest(), 16) % NUM_SEEDS


def reference_draws(file_names: Sequence[str], num_rows: int) -> NDArray[np.float64]:
    """Draws [num_rows, N] of the episodes along these routes; row s is the draw of step s.

    The rows before the first simulated step are 0. The reference knows a route file as data/NAME,
    whatever folder it lies in here.
    """
    draws = np.zeros((num_rows, len(file_names)))
    generator = np.random.RandomState()
    for route, name in enumerate(file_names):
        generator.seed(episode_seed(f"data/{name}"))
        draws[CONTEXT_STEPS:, route] = generator.random_sample(num_rows - CONTEXT_STEPS)
    return draws
