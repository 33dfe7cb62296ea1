"""One side of `time_to_bar.py`: operant with its preset."""

from __future__ import annotations

import sys
import time

START_S = time.perf_counter()

from bars import PRESETS, Course  # noqa: E402 (start-up includes imports)

from operant.trainer.config.files import load_config  # noqa: E402
from operant.trainer.making import processor_experiment  # noqa: E402
from operant.trainer.run.stopwatch import Stopwatch  # noqa: E402
from operant.trainer.run.threads import Threads  # noqa: E402


def main(algorithm: str, width: int, seed: int, num_threads: int, most_env_steps: int) -> None:
    """Train to the bar, or for `most_env_steps` (0: the preset's budget)."""
    overrides = {
        "policy.hidden_sizes": [width, width],
        "seed": seed,
        "num_threads": num_threads,
    }
    config = load_config(PRESETS[algorithm], [f"{key}={value}" for key, value in overrides.items()])
    threads = Threads(num_threads)
    experiment = processor_experiment(config, threads)
    course = Course(algorithm, experiment.policy)
    startup_s = time.perf_counter() - START_S
    course.start()
    while experiment.env_steps < (most_env_steps or config.total_env_steps):
        list(experiment.iterate(Stopwatch(), wait=True))
        if course.has_arrived(experiment.env_steps):
            break
    course.print_result(startup_s)
    experiment.close()
    threads.close()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
