"""One side of `env_steps.py`: EnvPool's CartPole-v1 with random actions, in whatever Python has it.

    python envpool_steps.py NUM_ENVS NUM_THREADS BATCH_SIZE

Prints its version, then answers each line on standard input, a number of seconds, with the env
steps per second over about so long. A batch smaller than all environments is EnvPool's asynchronous
mode: each step takes actions for those that were ready first, and gives those that are ready next.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import envpool
import numpy as np

NUM_ACTIONS = 16  # different ones, used in turn


def steps_of(num_envs: int, num_threads: int, batch_size: int) -> Callable[[int], None]:
    """What makes one step of `batch_size` environments."""
    envs = envpool.make(
        "CartPole-v1", env_type="gymnasium", num_envs=num_envs, num_threads=num_threads,
        batch_size=batch_size, seed=1,
    )  # fmt: skip
    actions = np.random.default_rng(1).integers(2, size=(NUM_ACTIONS, batch_size), dtype=np.int32)
    if batch_size == num_envs:
        envs.reset()
        return lambda i: envs.step(actions[i % NUM_ACTIONS])
    envs.async_reset()

    def step(i: int) -> None:
        *_, about = envs.recv()
        envs.send(actions[i % NUM_ACTIONS], about["env_id"])

    return step


def main(num_envs: int, num_threads: int, batch_size: int) -> None:
    step = steps_of(num_envs, num_threads, batch_size)
    print(envpool.__version__, flush=True)
    for line in sys.stdin:
        seconds, count, start = float(line), 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            for _ in range(NUM_ACTIONS):
                step(count)
                count += 1
        print(batch_size * count / elapsed, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
