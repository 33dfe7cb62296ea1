"""How long until CartPole is solved: training with greedy evaluations until their mean is 475.

Each seed is a process of its own. Time counts from the end of start-up (imports, compilation, the
choice of a number of threads), with the evaluations and without. The policy that reached the bar
then plays 100 episodes that it was not chosen by. Peak memory is the process's, all included.

    python benchmarks/solve_time.py [PRESET] [--seeds 1 2 3 4 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

from measuring import machine, run_side, summary, versions, write_json

BAR = 475.0
EPISODES = 100
EVALUATE_EVERY = 10  # iterations
KIB_PER_GIB = 1024**2


def solve(preset: str, seed: int) -> dict[str, Any]:
    """Train one seed until it is solved, or the preset's env steps are used up."""
    start = time.perf_counter()
    from operant.trainer.config.files import load_config
    from operant.trainer.envs import spec_of
    from operant.trainer.evaluation import evaluate
    from operant.trainer.making import choose_num_threads, processor_experiment
    from operant.trainer.run.stopwatch import Stopwatch
    from operant.trainer.run.threads import Threads

    config = load_config(preset, [f"seed={seed}"])
    threads = Threads(choose_num_threads(config))
    experiment = processor_experiment(config, threads)
    experiment.evaluate(EPISODES)  # compiles what evaluation needs
    ready = time.perf_counter()
    evaluating_s, mean_return = 0.0, 0.0
    while mean_return < BAR and experiment.iteration < config.num_iterations:
        list(experiment.iterate(Stopwatch(), wait=True))
        if experiment.iteration % EVALUATE_EVERY == 0:
            before = time.perf_counter()
            mean_return = float(experiment.evaluate(EPISODES).returns.mean())
            evaluating_s += time.perf_counter() - before
    whole_s = time.perf_counter() - ready
    others = evaluate(experiment.policy, spec_of(config), EPISODES, seed + 1_000_000)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "solved": mean_return >= BAR,
        "training_s": whole_s - evaluating_s,
        "with_evaluations_s": whole_s,
        "startup_s": ready - start,
        "env_steps": experiment.env_steps,
        "mean_return": mean_return,
        "mean_return_of_others": float(others.returns.mean()),
        "num_threads": threads.num_threads,
        "peak_memory_gib": peak_kib / KIB_PER_GIB,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", nargs="?", default="cart_pole_ppo")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side is not None:
        print(json.dumps(solve(arguments.preset, arguments.side)))
        return

    runs = []
    for seed in arguments.seeds:
        runs.append(run := run_side(__file__, arguments.preset, "--side", str(seed)))
        word = "solved" if run["solved"] else "NOT SOLVED"
        print(
            f"seed {seed}  {word} in {run['training_s']:.2f} s of training "
            f"({run['with_evaluations_s']:.2f} s with evaluations) and "
            f"{run['env_steps']:,} env steps  return {run['mean_return']:.1f}, of other episodes "
            f"{run['mean_return_of_others']:.1f}  start-up {run['startup_s']:.1f} s  "
            f"{run['num_threads']} threads  {run['peak_memory_gib']:.2f} GiB",
            flush=True,
        )
    times = {
        name: summary([run[name] for run in runs])
        for name in ("training_s", "with_evaluations_s", "peak_memory_gib")
    }
    print(
        f"median {times['training_s']['median']:.2f} s of training, "
        f"{times['with_evaluations_s']['median']:.2f} s with evaluations; "
        f"peak memory at most {times['peak_memory_gib']['max']:.2f} GiB"
    )
    about = {**machine(), **versions("torch", "numba")}
    write_json(arguments.json, {"machine": about, "preset": arguments.preset, "times": times,
                                "runs": runs})  # fmt: skip


if __name__ == "__main__":
    main()
