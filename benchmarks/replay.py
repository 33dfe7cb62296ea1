"""Measure the cost of writing transitions, drawing a batch and updating its priorities.

Draws of `--rows` transitions of CartPole's shape, uniform and by priority, and Stable-Baselines3's
buffer beside them where it is installed. Sides alternate; microseconds a call, medians. On a GPU
with `--device cuda` each call is a replayed graph.

    python benchmarks/replay.py [--rows 10000 1000000] [--batches 64 256 512] [--rounds 9]
                                [--device cpu] [--json FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measuring import machine, summary, versions, write_json

from operant.trainer.memory.replay import Priorities, Replay
from operant.trainer.memory.rollout import Rollout

NUM_ENVS, OBS_SIZE, NUM_ACTIONS = 8, 4, 2
ROUND_S = 0.1
CALLS = 20  # between two looks at the clock

Call = Callable[[], Any]


def main() -> None:
    arguments = parsed()
    torch.set_num_threads(1)
    device = torch.device(arguments.device)
    about = {"machine": machine(), "versions": versions("stable-baselines3")}
    print(about)
    results: dict[str, Any] = {}
    for rows in arguments.rows:
        sides = operant_sides(rows, arguments.batches, device)
        if device.type == "cpu":
            sides |= peer_sides(rows, arguments.batches)
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for call in sides.values():  # compiles, and captures
            call()
            call()
        for _ in range(arguments.rounds):
            for name, call in sides.items():
                seconds[name].append(1e6 * seconds_of(call, device))
        for name, taken in seconds.items():
            results[name] = summary(taken)
            print(f"{name:<72} {np.median(taken):8.1f} us ({min(taken):.1f} to {max(taken):.1f})")
    write_json(arguments.json, about | {"device": str(device), "us": results})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 256, 512])
    parser.add_argument("--rounds", type=int, default=9, help="each measures every side once")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def seconds_of(call: Call, device: torch.device) -> float:
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < ROUND_S:
        for _ in range(CALLS):
            call()
        count += CALLS
        if device.type == "cuda":
            torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def operant_sides(rows: int, batches: list[int], device: torch.device) -> dict[str, Call]:
    """Calls on two full replays, of uniform draws and of draws by priority."""
    random = torch.Generator().manual_seed(1)
    uniform, by_error = (
        Replay(
            rows, NUM_ENVS, OBS_SIZE, (), torch.int64, seed=1, device=device, priorities=priorities
        )
        for priorities in (None, Priorities())
    )
    sides: dict[str, Call] = {}
    for kind, replay in (("uniform", uniform), ("by priority", by_error)):
        print(f"{rows:,} rows, {kind}: {replay.nbytes / 1e6:.1f} MB")
        fill(replay, rollout(100, device))
        one = rollout(1, device)
        sides[f"{rows:,} rows, {kind}: write {NUM_ENVS} transitions"] = on(
            device, lambda replay=replay, one=one: replay.write(one)
        )
    for size in batches:
        errors = torch.randn(size, generator=random).exp().to(device)
        batch, other = uniform.make_batch(size), by_error.make_batch(size)
        for _ in range(2 * rows // size if rows <= 10_000 else 500):  # priorities of all kinds
            by_error.sample(other, 0.5)
            by_error.update_priorities(other.index, torch.randn(size).exp().to(device))

        def draw_and_update(other=other, errors=errors) -> None:
            by_error.sample(other, 0.5)
            by_error.update_priorities(other.index, errors)

        name = f"{rows:,} rows, batch {size}"
        sides[f"{name}: draw, uniform"] = on(device, lambda batch=batch: uniform.sample(batch))
        sides[f"{name}: draw by priority, weights, update"] = on(device, draw_and_update)
    return sides


def rollout(steps: int, device: torch.device) -> Rollout:
    """Steps of all environments, one in a hundred the last of its episode."""
    random = torch.Generator().manual_seed(steps)
    shape = (steps, NUM_ENVS)

    def chance() -> torch.Tensor:
        return (torch.rand(shape, generator=random) < 0.01).to(device)

    zeros = torch.zeros(shape, device=device)
    return Rollout(
        obs=torch.randn(steps + 1, NUM_ENVS, OBS_SIZE, generator=random).to(device),
        actions=torch.randint(NUM_ACTIONS, shape, generator=random).to(device),
        rewards=torch.ones(shape, device=device), terminated=chance(), truncated=chance(),
        final_obs=torch.randn(steps, NUM_ENVS, OBS_SIZE, generator=random).to(device),
        log_probs=zeros, values=zeros, next_values=zeros,
        finals_in_order=device.type == "cuda",
    )  # fmt: skip


def fill(replay: Replay, hundred: Rollout) -> None:
    for _ in range(replay.layout.num_steps // 100 + 1):
        replay.write(hundred)


def on(device: torch.device, call: Call) -> Call:
    """The call, as a replayed graph where it is for a GPU."""
    if device.type == "cpu":
        return call
    from operant.trainer.jit.graphs import Replayed

    return Replayed(call, capture=True)


def peer_sides(rows: int, batches: list[int]) -> dict[str, Call]:
    """Stable-Baselines3's buffer, which draws uniformly."""
    try:
        from gymnasium.spaces import Box, Discrete
        from stable_baselines3.common.buffers import ReplayBuffer
    except ImportError:
        return {}
    buffer = ReplayBuffer(
        rows, Box(-1, 1, (OBS_SIZE,)), Discrete(NUM_ACTIONS), device="cpu", n_envs=NUM_ENVS
    )
    random = np.random.default_rng(1)
    obs = random.normal(size=(NUM_ENVS, OBS_SIZE)).astype(np.float32)
    step = (
        obs,
        obs,
        np.zeros((NUM_ENVS, 1)),
        np.ones(NUM_ENVS),
        np.zeros(NUM_ENVS),
        [{}] * NUM_ENVS,
    )

    def add() -> None:
        buffer.add(*step)

    for _ in range(rows // NUM_ENVS):
        add()
    name = "Stable-Baselines3"
    return {f"{rows:,} rows, {name}: write {NUM_ENVS} transitions": add} | {
        f"{rows:,} rows, batch {size}, {name}: draw, uniform": lambda size=size: buffer.sample(size)
        for size in batches
    }


if __name__ == "__main__":
    main()
