"""What it costs to learn as several ranks: a sum over them by its size, and training by one process
against two ranks on the same two cores, in turn, with few and with many env steps an iteration.
With several GPUs the same over NCCL, as far as that can be.

    python benchmarks/ranks.py [--rounds 7] [--seconds 1] [--only SUMS ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from statistics import median
from typing import Any

from measuring import busy, machine, versions, write_json

FLOATS = (1, 100, 10_000, 70_000, 1_000_000)
PRESET = "cart_pole_ppo"
ENVS = {"4,096": 128, "65,536": 2048}  # by env steps an iteration, of 32 in each environment
SIDES = {"one process": (1, 2), "two ranks": (2, 1)}  # processes, and threads of each
WARM_UP = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each side's turn")
    parser.add_argument("--only", nargs="+", default=["sums", *ENVS], help="sums, 4,096, 65,536")
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--serve", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        kind, *told = arguments.serve
        {"sums": serve_sums, "training": serve_training}[kind](*told)
        return
    found: dict[str, Any] = {"machine": {**machine(), **versions("torch", "numba")}}
    if "sums" in arguments.only:
        found["sums"] = sums(arguments.rounds, "gloo")
    for name, num_envs in ENVS.items():
        if name in arguments.only:
            found[name] = training(name, num_envs, arguments.rounds, arguments.seconds)
    found["GPUs"] = on_gpus(arguments.rounds)
    write_json(arguments.json, found)


def sums(rounds: int, backend: str) -> dict[int, Any]:
    """Microseconds of a sum over two ranks, by its floats: median of the rounds', and their range,
    and of each round the one that nine in ten are faster than.
    """
    found: dict[int, list[list[float]]] = {floats: [] for floats in FLOATS}
    with processes(2, "sums", backend) as ranks:
        for floats in FLOATS * rounds:
            found[floats].append(answers(ranks, floats)[0])
    told = {}
    for floats, each in found.items():
        medians, slow = zip(*each, strict=True)
        told[floats] = {"us": medians, "p90_us": slow}
        print(f"{backend}, {floats:>9,} floats {median(medians):>8.0f} us ({min(medians):.0f} "
              f"to {max(medians):.0f}), p90 {median(slow):.0f}  load {busy():.1f}",
              flush=True)  # fmt: skip
    return told


def training(name: str, num_envs: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Env steps per second of one process and of two ranks, and of each round their ratio."""
    env_steps = 32 * num_envs
    with ExitStack() as open_sides:
        sides = {
            side: open_sides.enter_context(
                processes(count, "training", str(num_envs), str(threads))
            )
            for side, (count, threads) in SIDES.items()
        }
        for side in sides.values():
            answers(side, WARM_UP)
        took_s = answers(sides["one process"], WARM_UP)[0][0] / WARM_UP
        iterations = max(1, round(seconds / took_s))
        rates: dict[str, list[float]] = {side: [] for side in sides}
        for number in range(rounds):
            for side in list(sides)[:: 1 if number % 2 else -1]:
                slowest = max(each[0] for each in answers(sides[side], iterations))
                rates[side].append(iterations * env_steps / slowest)
    one, two = rates.values()
    ratios = [b / a for a, b in zip(one, two, strict=True)]
    print(f"{name:>6} env steps an iteration: {median(one):,.0f} and {median(two):,.0f} env steps/s"
          f", ratio {median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})  "
          f"load {busy():.1f}", flush=True)  # fmt: skip
    return {"env_steps_per_s": rates, "ratios": ratios}


def on_gpus(rounds: int) -> Any:
    import torch

    count = torch.cuda.device_count()
    if count < 2:
        told = f"skipped: NCCL needs two GPUs, and there are {count}"
        print(told)
        return told
    return sums(rounds, "nccl")


Rank = subprocess.Popen[str]


@contextmanager
def processes(count: int, kind: str, *told: str) -> Iterator[Sequence[Rank]]:
    """Ranks that do what they are asked to, or one process that is alone."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    place = {
        "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }  # fmt: skip
    started = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve", kind, *told], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, **place, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(count)
    ]  # fmt: skip
    try:
        yield started
        for process in started:
            assert process.stdin is not None
            process.stdin.close()
        for process in started:
            process.wait(60)
    finally:
        for process in started:
            process.kill()
            process.wait()


def answers(ranks: Sequence[Rank], asked: int) -> list[list[float]]:
    """What each answers, all asked at once."""
    for process in ranks:
        assert process.stdin is not None
        process.stdin.write(f"{asked}\n")
        process.stdin.flush()
    lines = [process.stdout.readline() for process in ranks if process.stdout is not None]
    return [json.loads(line) for line in lines]


def serve_sums(backend: str) -> None:
    """Times sums of as many floats as each line says: median and 90th percentile, microseconds."""
    from operant.trainer.ranks.place import place_of

    place = place_of(os.environ)
    assert place is not None
    with adding(place, backend) as (add_up, device):
        for line in sys.stdin:
            print(json.dumps(timed(add_up, int(line), device)), flush=True)


@contextmanager
def adding(place: Any, backend: str) -> Iterator[tuple[Any, str]]:
    """What adds up a tensor over all ranks, and where: as operant does over Gloo, and as
    torch.distributed does over NCCL.
    """
    import torch
    from torch import distributed

    if backend == "gloo":
        from operant.trainer.config.files import load_config
        from operant.trainer.ranks.joining import joined

        with joined(place, load_config(PRESET, ("device=cpu",))) as met:
            yield met.ranks.add_up, "cpu"
        return
    torch.cuda.set_device(place.rank)
    distributed.init_process_group(
        backend, rank=place.rank, world_size=place.world_size,
        init_method=f"tcp://{place.master_addr}:{place.master_port}",
    )  # fmt: skip

    def add_up(x: torch.Tensor) -> None:
        distributed.all_reduce(x)
        torch.cuda.synchronize()

    yield add_up, "cuda"
    distributed.destroy_process_group()


def timed(add_up: Any, floats: int, device: str) -> tuple[float, float]:
    import torch

    x, took_us = torch.ones(floats, device=device), []
    count = max(20, min(500, 10**7 // floats))
    for number in range(count + WARM_UP):
        x.fill_(1.0)
        begun = time.perf_counter()
        add_up(x)
        if number >= WARM_UP:
            took_us.append((time.perf_counter() - begun) * 1e6)
    took_us.sort()
    return median(took_us), took_us[9 * count // 10]


def serve_training(num_envs: str, threads: str) -> None:
    """Trains for as many iterations as each line says, and answers how long that took."""
    from operant.trainer.config.files import load_config
    from operant.trainer.making import processor_experiment
    from operant.trainer.ranks.joining import joined
    from operant.trainer.ranks.place import place_of
    from operant.trainer.ranks.single import SINGLE
    from operant.trainer.run.stopwatch import Stopwatch
    from operant.trainer.run.threads import Threads

    overrides = ("device=cpu", "total_env_steps=1000000000000", f"num_envs={num_envs}")
    config = load_config(PRESET, overrides)
    place = place_of(os.environ)
    with ExitStack() as stack:
        ranks: Any = stack.enter_context(joined(place, config)).ranks if place else SINGLE
        experiment = processor_experiment(config, Threads(int(threads)), ranks)
        weights = experiment.policy.flat_parameters
        for line in sys.stdin:
            ranks.agreed(False, False, weights)  # all are there
            begun = time.perf_counter()
            for _ in range(int(line)):
                ranks.agreed(False, False, weights)
                list(experiment.iterate(Stopwatch(), wait=True))
            print(json.dumps([time.perf_counter() - begun]), flush=True)
        experiment.close()


if __name__ == "__main__":
    main()
