"""Training speed against the numbers of environments, units, transitions in a batch and ranks.

    python benchmarks/scaling.py [--rounds 3] [--only environments ranks] [--json FILE]
    python benchmarks/scaling.py --draw FILE PICTURE.svg    # needs matplotlib

In each round every size is measured once, in a process of its own. Ranks between machines are in
network namespaces whose packets a relay delays and loses (tests/support/machines.py): root only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measuring import busy, machine, summary, versions, write_json

ROLLOUT_STEPS = 32
SAC = ("pendulum_sac", "rollout_steps=1")  # 8 updates an iteration
WIRES = {"0 ms": (0.0, 0.0), "1 ms": (0.001, 0.0), "50 ms, 1 % lost": (0.05, 0.01)}


def bench_train(preset: str, *settings: str) -> float:
    """Env steps per second, with the number of threads that operant chooses."""
    command = [
        sys.executable, "-m", "operant", "bench", preset, "--json", "--device", "cpu",
        "--repeats", "1", "--seconds", "3",
    ]  # fmt: skip
    *_, training = json.loads(answer(command, settings))["results"]
    return float(training["env_steps_per_s"]["median"])


def several_ranks(num_ranks: int, env_steps: int) -> float:
    """Env steps per second of ranks with one thread each that share an iteration of `env_steps`."""
    iterations = 2**23 // env_steps if num_ranks < 3 else 2**21 // env_steps
    settings = (
        f"num_envs={env_steps // ROLLOUT_STEPS}", "num_threads=1", "evaluation.num_episodes=0",
        f"total_env_steps={env_steps * iterations}",
    )  # fmt: skip
    command = [sys.executable, "-m", "operant", "train", "cart_pole_ppo", "--device", "cpu",
               "--json", "--processes", str(num_ranks)]  # fmt: skip
    return float(json.loads(answer(command, settings))["env_steps_per_s"])


def answer(command: list[str], settings: Sequence[str]) -> str:
    words = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run([*command, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


# By the name of the series: its sizes, and env steps (transitions learned from, where batches grow)
# per second.
Series = tuple[Sequence[Any], Callable[[Any], float]]
SERIES: dict[str, Series] = {
    "PPO, environments": (
        [8, 64, 512, 4096, 32_768, 131_072, 262_144],
        lambda size: bench_train("cart_pole_ppo", f"num_envs={size}"),
    ),
    "PPO, units a layer": (
        [32, 64, 128, 256, 512, 1024],
        lambda size: bench_train("cart_pole_ppo", f"policy.hidden_sizes=[{size},{size}]"),
    ),
    "SAC, units a layer": (
        [32, 64, 128, 256, 512, 1024],
        lambda size: bench_train(*SAC, f"policy.hidden_sizes=[{size},{size}]"),
    ),
    "SAC, transitions a batch": (
        [64, 128, 256, 512, 1024, 2048, 4096, 8192],
        lambda size: (
            size
            * bench_train(
                *SAC,
                "policy.hidden_sizes=[256,256]",
                "sac.warmup_env_steps=8192",
                f"sac.batch_size={size}",
            )
        ),
    ),
    "ranks, 4,096 env steps": ([1, 2, 3, 4], lambda size: several_ranks(size, 4096)),
    "ranks, 65,536 env steps": ([1, 2, 3, 4], lambda size: several_ranks(size, 65_536)),
}


def ranks_on_machines(wire: str) -> float:
    """Env steps per second of two ranks on machines of their own, 65,536 an iteration."""
    from machines import Machines, start_rank

    num_envs, iterations = 65_536 // ROLLOUT_STEPS, 12 if wire.startswith("50") else 60
    settings = (
        f"num_envs={num_envs}", "num_threads=1", "evaluation.num_episodes=0",
        f"total_env_steps={ROLLOUT_STEPS * num_envs * iterations}",
    )  # fmt: skip
    command = [sys.executable, "-m", "operant", "train", "cart_pole_ppo", "--json"]
    command += [word for setting in settings for word in ("--set", setting)]
    delay_s, loss = WIRES[wire]
    with tempfile.TemporaryDirectory() as folder, Machines(2, delay_s, loss) as machines:
        said = [Path(folder) / f"rank-{rank}.txt" for rank in range(2)]
        processes = [
            start_rank(machines, rank, 29_500, command, said[rank], {}) for rank in range(2)
        ]
        if any(process.wait() for process in processes):
            raise RuntimeError("\n".join(file.read_text() for file in said))
        (line,) = (each for each in said[0].read_text().splitlines() if each.startswith("{"))
        return float(json.loads(line)["env_steps_per_s"])


SERIES["two ranks on two machines"] = (list(WIRES), ranks_on_machines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[""], help="series with one of these words")
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--draw", nargs=2, metavar=("FILE", "PICTURE"), help="measure nothing")
    arguments = parser.parse_args()
    if arguments.draw:
        draw(*map(Path, arguments.draw))
        return
    sys.path.append(str(Path(__file__).parents[1] / "tests/support"))  # for `machines`
    runs: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as home:
        os.environ["OPERANT_HOME"] = home
        for name, (sizes, measure) in SERIES.items():
            if not any(word in name for word in arguments.only):
                continue
            print(f"{name}, load {busy():.1f}")
            runs[name] = {str(size): [] for size in sizes}
            for _ in range(arguments.rounds):
                for size in sizes:
                    runs[name][str(size)].append(measure(size))
            for size, speeds in runs[name].items():
                line = "{median:>14,.0f} ({min:,.0f} to {max:,.0f})"
                print(f"{size:>16}{line.format(**summary(speeds))}", flush=True)
            about = {**machine(), **versions("torch", "numba")}
            write_json(arguments.json, {"machine": about, "runs": runs})


def draw(results: Path, picture: Path) -> None:
    """One chart for each series, with its lowest and highest figures."""
    from matplotlib import pyplot

    runs = json.loads(results.read_text())["runs"]
    figure, axes = pyplot.subplots(2, -(-len(runs) // 2), figsize=(13, 6), layout="constrained")
    for chart, (name, by_size) in zip(axes.flat, runs.items(), strict=False):
        found = [summary(speeds) for speeds in by_size.values()]
        places = range(len(found))
        middle = [each["median"] for each in found]
        chart.plot(places, middle, marker="o")
        chart.fill_between(
            places, [each["min"] for each in found], [each["max"] for each in found], alpha=0.2
        )
        chart.set_xticks(places, list(by_size), rotation=30)
        chart.set_ylim(bottom=0)
        chart.set_title(name)
        chart.yaxis.set_major_formatter("{x:,.0f}")
        chart.grid(alpha=0.3)
    for chart in axes.flat[len(runs) :]:
        chart.remove()
    figure.savefig(picture)


if __name__ == "__main__":
    main()
