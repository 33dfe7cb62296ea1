"""Going on with a generator's random numbers after a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch


def set_generator(
    generator: torch.Generator, state: Mapping[str, Any], seed: int, count: int
) -> None:
    """Go on with the random numbers of `state`. One of another kind of device has none that could
    be gone on with: then with those of `seed` and of how far the run is, `count`, which were not
    drawn before.
    """
    kept = state.get("generator")
    if kept is not None and len(kept) == len(generator.get_state()):
        generator.set_state(kept)
    else:
        drawn = np.random.SeedSequence((seed, count)).generate_state(2)
        generator.manual_seed(int(drawn[0]) << 32 | int(drawn[1]))
