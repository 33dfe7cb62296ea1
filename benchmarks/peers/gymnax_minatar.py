"""The side of `minatar_games.py` that gymnax is: runs in an environment that has gymnax and JAX.

Steps a game with random actions that are drawn before, in one compiled loop. Times a round for each
line on standard input and prints env steps per second, and per second of processor time, as JSON.

    python benchmarks/peers/gymnax_minatar.py GAME NUM_ENVS STEPS
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import gymnax
import jax


def main(game: str, num_envs: int, num_steps: int) -> None:
    env, params = gymnax.make(f"{game}-MinAtar")
    keys = jax.random.split(jax.random.key(1), num_envs)
    reset, step = (jax.vmap(function, (0, *axes, None)) for function, axes in
                   ((env.reset, ()), (env.step, (0, 0))))  # fmt: skip
    actions = jax.random.randint(jax.random.key(2), (num_steps, num_envs), 0, env.num_actions)

    @jax.jit
    def round_of(keys: Any, state: Any, obs: Any) -> Any:
        def one(carry: Any, action: Any) -> Any:
            keys, state, _ = carry
            keys = jax.vmap(lambda key: jax.random.split(key, 1)[0])(keys)
            obs, state, reward, _, _ = step(keys, state, action, params)
            return (keys, state, obs), reward

        return jax.lax.scan(one, (keys, state, obs), actions)

    obs, state = jax.jit(reset)(keys, params)
    (keys, state, obs), _ = jax.block_until_ready(round_of(keys, state, obs))
    for _ in sys.stdin:
        start, start_cpu = time.perf_counter(), time.process_time()
        (keys, state, obs), _ = jax.block_until_ready(round_of(keys, state, obs))
        wall_s, cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
        steps = num_envs * num_steps
        print(json.dumps((steps / wall_s, steps / cpu_s)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
