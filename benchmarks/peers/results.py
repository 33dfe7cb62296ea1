"""The results that a side of `cart_pole.py` prints, with the standard library alone."""

from __future__ import annotations

import importlib.metadata
import json
import resource
from collections.abc import Sequence

EPISODES = 100  # greedy ones, after training
KIB_PER_GIB = 1024**2


def print_result(
    start_s: float,
    marks: Sequence[tuple[float, int]],
    num_epochs: int,
    mean_return: float,
    *packages: str,
) -> None:
    """One JSON object. `marks` are (seconds, env steps): the first is the end of start-up, the last
    that of training. Peak memory is the whole process's; samples are env steps times epochs.
    """
    (first_s, first_steps), (last_s, last_steps) = marks[0], marks[-1]
    env_steps_per_s = (last_steps - first_steps) / (last_s - first_s)
    result = {
        "env_steps_per_s": env_steps_per_s,
        "samples_per_s": env_steps_per_s * num_epochs,
        "env_steps": last_steps,
        "startup_s": first_s - start_s,
        "mean_return": mean_return,
        "peak_memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / KIB_PER_GIB,
        "versions": {package: importlib.metadata.version(package) for package in packages},
    }
    print(json.dumps(result))
