"""What PPO's further losses cost, in env steps per second: each on beside off. With --against, all
of them off beside another checkout of operant. The two sides of a pair take turns, for some
seconds at a time, in processes that live on; one thread each.

    python benchmarks/switches.py [--pairs 5] [--seconds 1] [--only NAME ...] [--against FOLDER]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from measuring import busy, machine, versions, write_json

PPO, MEMORY = "cart_pole_ppo", "cart_pole_memory_ppo"
PYTORCH = "ppo.max_minibatch_size=1000000"  # as all switches do, and nothing else
LASTING = "kickstart.until_fraction=1"

# Of each comparison: the preset, what is off, and what is on beside it. TEACHER is a checkpoint.
COMPARED = {
    "PPO, kickstart": (PPO, (PYTORCH,), ("kickstart.teachers=['TEACHER']", LASTING)),
    "PPO, teachers act": (
        PPO, (PYTORCH,), ("kickstart.teachers=['TEACHER']", LASTING, "kickstart.act_prob=0.5"),
    ),
    "LSTM, kickstart": (MEMORY, (), ("kickstart.teachers=['TEACHER']", LASTING)),
    "LSTM, teachers act": (
        MEMORY, (), ("kickstart.teachers=['TEACHER']", LASTING, "kickstart.act_prob=0.5"),
    ),
    "LSTM, contrastive": (MEMORY, (), ("contrastive.coef=0.1",)),
}  # fmt: skip


def main() -> None:
    arguments = parsed()
    if arguments.side:
        serve(*arguments.side)
        return
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        here = Path(__file__).resolve().parent.parent
        for name, sides in comparisons(arguments, here, Path(folder)):
            found[name] = compared(name, sides, arguments)
    about = {**machine(), **versions("torch", "numba")}
    write_json(arguments.json, {"machine": about, "results": found})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each side's turn")
    parser.add_argument("--only", nargs="+", default=[], help="comparisons; all without it")
    parser.add_argument("--against", type=Path, help="another checkout, beside which all is off")
    parser.add_argument("--json", help="also write everything to this file")
    parser.add_argument("--side", nargs="+", help=argparse.SUPPRESS)
    return parser.parse_args()


Side = tuple[Path, Sequence[str]]  # a checkout, and a preset with what is set


def comparisons(
    arguments: argparse.Namespace, here: Path, folder: Path
) -> Iterator[tuple[str, tuple[Side, Side]]]:
    """By name the two sides of each: off, or the other checkout, first."""
    if arguments.against:
        for name, preset in (("PPO", PPO), ("LSTM", MEMORY)):
            if not arguments.only or name in arguments.only:
                yield name, ((arguments.against.resolve(), (preset,)), (here, (preset,)))
        return
    for name, (preset, off, on) in COMPARED.items():
        if not arguments.only or name in arguments.only:
            teacher = str(teacher_of(preset, folder))
            told = [x.replace("TEACHER", teacher) for x in on]
            yield name, ((here, (preset, *off)), (here, (preset, *told)))


def teacher_of(preset: str, folder: Path) -> Path:
    """A checkpoint of one iteration: how good a teacher is makes no difference to speed."""
    home = folder / preset
    if not home.exists():
        changed = {"OPERANT_HOME": str(home), "OPERANT_PAGES": str(folder / "pages")}
        command = [sys.executable, "-m", "operant", "train", preset, "--set", "total_env_steps=1",
                   "--set", "evaluation.num_episodes=0", "--set", "recorder.on=false"]  # fmt: skip
        subprocess.run(command, env={**os.environ, **changed}, check=True, capture_output=True)
    (checkpoint,) = home.glob("runs/*/checkpoints/*.pt")
    return checkpoint


def compared(
    name: str, sides: tuple[Side, Side], arguments: argparse.Namespace
) -> dict[str, list[float]]:
    """Env steps per second of both sides, and of each pair the second over the first."""
    with ExitStack() as open_sides:
        turns = [open_sides.enter_context(side(*each)) for each in sides]
        for process in turns:
            rate(process, arguments.seconds)  # compiles, and warms up
        rates: list[list[float]] = [[], []]
        for pair in range(arguments.pairs):
            for number in (0, 1) if pair % 2 else (1, 0):
                rates[number].append(rate(turns[number], arguments.seconds))
    ratios = [second / first for first, second in zip(*rates, strict=True)]
    print(f"{name:<20} {median(rates[0]):>10,.0f} {median(rates[1]):>10,.0f} env steps/s, ratio "
          f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})  load {busy():.1f}",
          flush=True)  # fmt: skip
    return {"first": rates[0], "second": rates[1], "ratios": ratios}


@contextmanager
def side(checkout: Path, told: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that trains whenever it is asked to, with the operant of `checkout`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "operant").symlink_to(checkout)
        process = subprocess.Popen(
            [sys.executable, __file__, "--side", str(checkout), *told],
            env={**os.environ, "PYTHONPATH": folder},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            process.communicate()


def rate(process: subprocess.Popen[str], seconds: float) -> float:
    """Env steps per second of the next turn."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def serve(checkout: str, preset: str, *overrides: str) -> None:
    """Trains for as many seconds as each line of the input says, and answers with the speed."""
    import time

    import operant
    from operant.trainer.config.files import load_config
    from operant.trainer.making import make_experiment
    from operant.trainer.run.stopwatch import Stopwatch

    assert Path(operant.__file__).resolve().parent == Path(checkout), operant.__file__
    lasting = ("num_threads=1", "device=cpu", "total_env_steps=1000000000000")
    config = load_config(preset, (*lasting, *overrides))
    experiment = make_experiment(config)
    for line in sys.stdin:
        begun, env_steps, elapsed_s = time.perf_counter(), experiment.env_steps, 0.0
        while elapsed_s < float(line):
            list(experiment.iterate(Stopwatch(), wait=True))
            elapsed_s = time.perf_counter() - begun
        print((experiment.env_steps - env_steps) / elapsed_s, flush=True)
    experiment.close()


if __name__ == "__main__":
    main()
