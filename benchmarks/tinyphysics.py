"""TinyPhysics on the processor: operant against one route at a time and against plain batching.

Three sides, alternating, a process each, PID steering:

- sequential: the challenge's own way: one route, one call of the whole model a step, one thread;
- plain: all routes in lockstep, one full call of the whole model a step, all 580 steps;
- operant: the engine that it measures to be fastest here.

All give the same costs, which is checked. Seconds per route, starting the model not counted.

    python benchmarks/tinyphysics.py [--data DIR] [--rounds 3] [--routes 64] [--json FILE]
    python benchmarks/tinyphysics.py --memory 5000 [--data DIR]
    python benchmarks/tinyphysics.py --cache 20000 [--data DIR]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import machine, run_side, summary, versions, write_json
from tinyphysics_reference import BINS, Pid, episode, make_session, read_columns

SIDES = ("sequential", "plain", "operant")


def route_paths(data: Path, count: int) -> list[Path]:
    """`count` routes; where there are fewer they come again."""
    paths = sorted((data / "data").glob("*.csv"))
    return [paths[i % len(paths)] for i in range(count)]


def sequential_side(data: Path, count: int) -> dict[str, Any]:
    paths = route_paths(data, count)
    session = make_session(data / "tinyphysics.onnx", 1)
    start = time.perf_counter()
    costs = [episode(session, path, Pid())["costs"][2] for path in paths]
    return {"s_per_route": (time.perf_counter() - start) / count, "mean_cost": np.mean(costs)}


def plain_side(data: Path, count: int) -> dict[str, Any]:
    """What batching alone gives: NumPy around one call for all routes."""
    import hashlib

    paths = route_paths(data, count)
    session = make_session(data / "tinyphysics.onnx", os.cpu_count() or 1)
    start = time.perf_counter()
    routes = [read_columns(path) for path in paths]
    roll, v, a, target, steer = (
        np.stack([route[k] for route in routes])
        for k in ("roll_lataccel", "v_ego", "a_ego", "target", "steer")
    )
    seeds = [int(hashlib.md5(f"data/{p.name}".encode()).hexdigest(), 16) % 10**4 for p in paths]
    length = target.shape[1]
    draws = np.stack([np.random.RandomState(s).random_sample(length - 20) for s in seeds], 1)
    actions, lataccels = steer.copy(), target.copy()
    total, former = np.zeros(count), np.zeros(count)
    for step in range(20, length):
        error = target[:, step] - lataccels[:, step - 1]
        total += error
        action = 0.195 * error + 0.1 * total + -0.053 * (error - former)
        former = error
        actions[:, step] = np.clip(action if step >= 100 else steer[:, step], -2, 2)
        rows = slice(step - 19, step + 1)
        states = np.stack([actions[:, rows], roll[:, rows], v[:, rows], a[:, rows]], 2)
        tokens = np.digitize(np.clip(lataccels[:, step - 20 : step], -5, 5), BINS, right=True)
        inputs = {"states": states.astype(np.float32), "tokens": tokens.astype(np.int64)}
        scaled = session.run(None, inputs)[0][:, -1] / np.float32(0.8)
        exponentials = np.exp(scaled - scaled.max(1, keepdims=True))
        probabilities = exponentials / exponentials.sum(1, keepdims=True)
        cumulative = np.cumsum(probabilities, 1, dtype=np.float64)
        cumulative /= cumulative[:, -1:].copy()
        drawn = (cumulative <= draws[step - 20][:, None]).sum(1)
        current = lataccels[:, step - 1]
        if step >= 100:
            lataccels[:, step] = np.clip(BINS[drawn], current - 0.5, current + 0.5)
    window = lataccels[:, 100:500]
    costs = 5000 * ((target[:, 100:500] - window) ** 2).mean(1)
    costs += 100 * ((np.diff(window) / 0.1) ** 2).mean(1)
    return {"s_per_route": (time.perf_counter() - start) / count, "mean_cost": costs.mean()}


def operant_side(data: Path, count: int) -> dict[str, Any]:
    from operant.trainer.envs.tinyphysics.controllers import Pid as BatchedPid
    from operant.trainer.envs.tinyphysics.draws import reference_draws
    from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
    from operant.trainer.envs.tinyphysics.model_file import read_model
    from operant.trainer.envs.tinyphysics.route_file import read_route
    from operant.trainer.envs.tinyphysics.routes import side_by_side
    from operant.trainer.envs.tinyphysics.simulator import simulate

    paths = route_paths(data, count)
    engine = make_engine(read_model(data / "tinyphysics.onnx"), batch=min(count, 64))
    start = time.perf_counter()
    parsed = {path: read_route(path) for path in dict.fromkeys(paths)}
    routes = side_by_side([path.name for path in paths], [parsed[path] for path in paths])
    draws = reference_draws(routes.names, routes.rows.shape[1])
    costs = simulate(engine, routes, BatchedPid(), draws).costs
    return {
        "s_per_route": (time.perf_counter() - start) / count,
        "mean_cost": float(costs.total.mean()),
        "engine": engine.name,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def cache_times(data: Path, count: int) -> dict[str, float]:
    """Seconds to parse a folder of `count` routes, to open it again, and to take batches of it."""
    from operant.trainer.envs.tinyphysics.route_cache import RouteFolder

    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, path in enumerate(route_paths(data, count)):
            shutil.copy(path, folder / f"{number:05}.csv")

        def seconds(work: Callable[[], object]) -> float:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start

        result = {"parse_s": seconds(lambda: RouteFolder(folder))}
        result["open_s"] = seconds(lambda: RouteFolder(folder))
        routes = RouteFolder(folder)
        for batch in (64, 1000):
            picks = [random.choice(count, batch, replace=False) for _ in range(21)]
            taken = [seconds(functools.partial(routes.take, pick)) for pick in picks]
            result[f"take_{batch}_s"] = statistics.median(taken)
    return result


def run(name: str, data: Path, count: int) -> dict[str, Any]:
    return run_side(__file__, "--side", name, "--data", str(data), "--routes", str(count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("OPERANT_TINYPHYSICS"))
    parser.add_argument("--rounds", type=int, default=3, help="each runs every side once")
    parser.add_argument("--routes", type=int, default=64)
    parser.add_argument("--sequential-routes", type=int, default=8, help="of those, one by one")
    parser.add_argument(
        "--memory", type=int, metavar="N", help="only operant's memory for N routes"
    )
    parser.add_argument("--cache", type=int, metavar="N", help="only the cache of N routes")
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.data:
        parser.error("--data or OPERANT_TINYPHYSICS names the folder of the model and the routes")
    if arguments.side:
        sides = dict(zip(SIDES, (sequential_side, plain_side, operant_side), strict=True))
        print(json.dumps(sides[arguments.side](arguments.data, arguments.routes)))
        return
    if arguments.memory:
        result = run("operant", arguments.data, arguments.memory)
        print(f"{arguments.memory} routes: {result['peak_gib']:.2f} GiB at most")
        return
    if arguments.cache:
        for what, seconds in cache_times(arguments.data, arguments.cache).items():
            print(f"{what.removesuffix('_s'):<12} {1e3 * seconds:>10.1f} ms")
        return

    results: dict[str, list[dict[str, Any]]] = {name: [] for name in SIDES}
    for _ in range(arguments.rounds):
        for name in SIDES:
            few = name == "sequential"
            count = arguments.sequential_routes if few else arguments.routes
            results[name].append(result := run(name, arguments.data, count))
            print(f"{name:<12} {1e3 * result['s_per_route']:>8.1f} ms a route", flush=True)
    # The same routes cost the same, one by one or together; the few are the first of the many.
    same = run("operant", arguments.data, arguments.sequential_routes)
    assert abs(same["mean_cost"] - results["sequential"][0]["mean_cost"]) < 1e-6
    assert abs(results["plain"][0]["mean_cost"] - results["operant"][0]["mean_cost"]) < 1e-6
    spread = {name: summary([r["s_per_route"] for r in runs]) for name, runs in results.items()}
    for name, bar in (("sequential", 6), ("plain", 2)):
        ratio = spread[name]["median"] / spread["operant"]["median"]
        print(f"{ratio:.2f} times faster than {name} (bar {bar})")
    about = {**machine(), **versions("torch", "onnxruntime", "numpy")}
    write_json(arguments.json, {"machine": about, "seconds_per_route": spread, "runs": results})


if __name__ == "__main__":
    main()
