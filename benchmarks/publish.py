"""Cost of publishing: operant and other loggers, in alternating fresh processes.

It measures the call itself first: how long logging sixteen numbers delays one training step.
Then it measures a PPO run on CartPole with each logger, logging every iteration:
env steps per second from the first iteration to the last.

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
NUM_VALUES = 16


def call_side(name: str, calls: int, every_us: float) -> dict[str, float]:
    """Microseconds of a call: median, 99th percentile, mean."""
    import numpy as np

    names = [f"group{i % 4}/metric_{i}" for i in range(NUM_VALUES)]
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
    from gpu_parts import NoPage
    from monitor_cost import attached_monitor

    from operant.shared.runs.run_folder import create_run
    from operant.shared.runs.session import RunSession
    from operant.trainer.config.files import load_config
    from operant.trainer.config.metrics import metrics_of
    from operant.trainer.running.loop import train
    from operant.trainer.running.telemetry import PUBLISH_INTERVAL_S

    threads = max(1, len(os.sched_getaffinity(0)) - 1)
    overrides = [f"seed={seed}", f"total_env_steps={env_steps}", f"num_threads={threads}"]
    config = load_config("cart_pole_ppo", [*overrides, "evaluation.num_episodes=0"])
    marks: list[tuple[float, int]] = []
    with contextlib.ExitStack() as stack:
        os.environ["OPERANT_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        run, lock = create_run("benchmark", {})
        session = RunSession(
            run, lock, metrics_of(load_config()), publish_interval_s=PUBLISH_INTERVAL_S
        )
        metrics: Any = session.metrics if name.startswith("operant") else NoPage()
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


def measure_calls(arguments: argparse.Namespace) -> dict[str, Any]:
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in CALL_SIDES}
    for _ in range(arguments.rounds):
        for name, answers in rounds.items():
            calls = 10 * arguments.calls if name == "operant" else arguments.calls
            options = ["--calls", str(calls), "--every-us", str(arguments.every_us)]
            answers.append(run_side(__file__, "--call-side", name, *options))
    table = {
        side: {key: summary([answer[key] for answer in answers]) for key in answers[0]}
        for side, answers in rounds.items()
    }
    for side, row in table.items():
        spread = "{min:.1f} to {max:.1f}".format(**row["p50_us"])
        print(
            f"{side:24} p50 {row['p50_us']['median']:8.1f} us ({spread})  "
            f"p99 {row['p99_us']['median']:8.1f} us  mean {row['mean_us']['median']:8.1f} us"
        )
    return {"calls": table}


def measure_training(arguments: argparse.Namespace) -> dict[str, Any]:
    speeds: dict[str, list[float]] = {name: [] for name in TRAINING_SIDES}
    run_side(__file__, "--training-side", "nothing", "--env-steps", "200000")  # compiles
    for seed in range(1, arguments.pairs + 1):
        # Each side goes first in turn: what a machine does over time hits all of them.
        order = TRAINING_SIDES[seed % 5 :] + TRAINING_SIDES[: seed % 5]
        for name in order:
            options = ["--seed", str(seed), "--env-steps", str(arguments.env_steps)]
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
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.call_side:
        print(json.dumps(call_side(arguments.call_side, arguments.calls, arguments.every_us)))
        return
    if side := arguments.training_side:
        print(json.dumps(training_side(side, arguments.seed, arguments.env_steps)))
        return
    about = {
        **machine(),
        **versions("torch", "tensorboard", "wandb", "prometheus-client"),
    }
    result = {"machine": about, **measure_calls(arguments)}
    if arguments.pairs:
        result |= measure_training(arguments)
    write_json(arguments.json, result)


if __name__ == "__main__":
    main()
