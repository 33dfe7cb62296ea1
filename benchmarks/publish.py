"""What it costs to publish: operant against what others log with, alternating, a process each.

First the call itself: how long one step of a training loop is held up by logging sixteen numbers
(and thirty-two, for operant). Then a whole PPO run on CartPole with each of them, logging every
iteration: env steps per second from the first iteration to the last.

    python benchmarks/publish.py [--rounds 5] [--calls 2000] [--pairs 5] [--json FILE]

Calls are made `--every-us` apart, as a loop would that has something else to do: a logger that
hands its work to a thread or a process is not measured with a full queue.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from typing import Any

from loggers import LOGGERS, logger
from measuring import machine, run_side, summary, versions, write_json

CALL_SIDES = [name for name in LOGGERS if name != "nothing"]
TRAINING_SIDES = ["nothing", "operant", "operant and a monitor", "tensorboard", "wandb"]
WARM_UP_CALLS = 200


def call_side(name: str, num_values: int, calls: int, every_us: float) -> dict[str, float]:
    """Microseconds of a call: median, 99th percentile, mean."""
    import numpy as np

    names = [f"group{i % 4}/metric_{i}" for i in range(num_values)]
    taken_ns = np.zeros(calls)
    with logger(name) as log:
        for step in range(WARM_UP_CALLS + calls):
            values = {metric: step + i / 7 for i, metric in enumerate(names)}
            start = time.perf_counter_ns()
            log(values, step)
            end = time.perf_counter_ns()
            if step >= WARM_UP_CALLS:
                taken_ns[step - WARM_UP_CALLS] = end - start
            while time.perf_counter_ns() - end < 1000 * every_us:
                pass
    p50, p99 = np.percentile(taken_ns, [50, 99]) / 1000
    return {"p50_us": float(p50), "p99_us": float(p99), "mean_us": float(taken_ns.mean() / 1000)}


def training_side(name: str, seed: int, env_steps: int) -> dict[str, float]:
    """The preset cart_pole_ppo, its numbers given to logger `name` at every iteration."""
    from monitor_cost import attached_monitor

    from operant.shared.run_folder import create_run
    from operant.shared.session import RunSession
    from operant.trainer.config.files import load_config
    from operant.trainer.loop import train
    from operant.trainer.run.telemetry import PUBLISH_INTERVAL_S, metrics_of

    threads = max(1, len(os.sched_getaffinity(0)) - 1)
    overrides = [f"seed={seed}", f"total_env_steps={env_steps}", f"num_threads={threads}"]
    config = load_config("cart_pole_ppo", [*overrides, "evaluation.num_episodes=0"])
    marks: list[tuple[float, int]] = []
    with contextlib.ExitStack() as stack:
        os.environ["OPERANT_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        run, lock = create_run("benchmark", {}, rank=0)
        session = RunSession(
            run, lock, metrics_of(load_config()), publish_interval_s=PUBLISH_INTERVAL_S
        )
        metrics: Any = session.metrics if name.startswith("operant") else _NoPage()
        log = None if name.startswith("operant") else stack.enter_context(logger(name))

        def report(values: dict[str, float], iteration: int, steps: int) -> None:
            if "loss/policy" not in values:
                return
            if log:
                log(values, steps)
            marks.append((time.perf_counter(), steps))

        if name.endswith("monitor"):
            stack.enter_context(attached_monitor({}))
        train(config, metrics, run.checkpoint_folder, report=report)
        session.close("finished", 0)
    (begin_s, begin), (end_s, end) = marks[0], marks[-1]
    return {"env_steps_per_s": (end - begin) / (end_s - begin_s)}


class _NoPage:
    """Takes what a page would and does nothing with it."""

    num_publishes = 0

    def publish(self, values: object, iteration: int, env_steps: int) -> None: ...

    def event(self, level: str, text: str, env_steps: int = -1) -> None: ...


def measure_calls(asked: argparse.Namespace) -> dict[str, Any]:
    sides = {f"{name}, 16 values": (name, 16) for name in CALL_SIDES}
    sides["operant, 32 values"] = ("operant", 32)
    rounds: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(asked.rounds):
        for side, (name, num_values) in sides.items():
            calls = 10 * asked.calls if name == "operant" else asked.calls
            options = ["--calls", str(calls), "--every-us", str(asked.every_us)]
            answer = run_side(__file__, "--call-side", name, "--values", str(num_values), *options)
            rounds[side].append(answer)
    table = {
        side: {key: summary([answer[key] for answer in answers]) for key in answers[0]}
        for side, answers in rounds.items()
    }
    cheapest = min(
        table[f"{name}, 16 values"]["p50_us"]["median"] for name in CALL_SIDES if name != "operant"
    )
    ours = table["operant, 16 values"]["p50_us"]["median"]
    wandb = table["wandb, 16 values"]["p50_us"]["median"]
    for side, row in table.items():
        spread = "{min:.1f} to {max:.1f}".format(**row["p50_us"])
        print(
            f"{side:24} p50 {row['p50_us']['median']:8.1f} us ({spread})  "
            f"p99 {row['p99_us']['median']:8.1f} us  mean {row['mean_us']['median']:8.1f} us"
        )
    print(
        f"operant is {cheapest / ours:.0f} x cheaper than the cheapest, {wandb / ours:.0f} x wandb"
    )
    return {"calls": table, "cheapest_ratio": cheapest / ours, "wandb_ratio": wandb / ours}


def measure_training(asked: argparse.Namespace) -> dict[str, Any]:
    speeds: dict[str, list[float]] = {name: [] for name in TRAINING_SIDES}
    run_side(__file__, "--training-side", "nothing", "--env-steps", "200000")  # compiles
    for seed in range(1, asked.pairs + 1):
        # Each side goes first in turn: what a machine does over time hits all of them.
        order = TRAINING_SIDES[seed % 5 :] + TRAINING_SIDES[: seed % 5]
        for name in order:
            options = ["--seed", str(seed), "--env-steps", str(asked.env_steps)]
            answer = run_side(__file__, "--training-side", name, *options)
            speeds[name].append(answer["env_steps_per_s"])
    table = {name: summary(values) for name, values in speeds.items()}
    for name, row in table.items():
        ratios = [a / b for a, b in zip(speeds[name], speeds["nothing"], strict=True)]
        ratio = summary(ratios)["median"]
        print(
            f"{name:24} {row['median']:10,.0f} env steps/s "
            f"({row['min']:,.0f} to {row['max']:,.0f})  {ratio:.3f} of nothing"
        )
    return {"training": {name: {**table[name], "all": speeds[name]} for name in speeds}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--every-us", type=float, default=500.0)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--env-steps", type=int, default=3_000_000)
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--call-side", help=argparse.SUPPRESS)
    parser.add_argument("--training-side", help=argparse.SUPPRESS)
    parser.add_argument("--values", type=int, default=16, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.call_side:
        print(json.dumps(call_side(asked.call_side, asked.values, asked.calls, asked.every_us)))
        return
    if asked.training_side:
        print(json.dumps(training_side(asked.training_side, asked.seed, asked.env_steps)))
        return
    about = {
        **machine(),
        **versions("torch", "tensorboard", "wandb", "trackio", "prometheus-client"),
    }
    result = {"machine": about, **measure_calls(asked)}
    if asked.pairs:
        result |= measure_training(asked)
    write_json(asked.json, result)


if __name__ == "__main__":
    main()
