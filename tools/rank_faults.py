"""Ranks on machines of their own, of which one is killed, frozen or cut off at random moments:
each time all others end soon, with a line that names it, and the run goes on exactly.

    python tools/rank_faults.py [--kills 50] [--freezes 20] [--cuts 20] [--seed N]

One run goes through all faults, resumed after each. At the end another goes as far undisturbed:
every checkpoint of the first has the parameters of the other's, to the bit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import torch
from machines import Machines, ports, start_rank, why_none
from waiting import wait_for

from operant.shared.runs.find_runs import find_run
from operant.shared.runs.run_folder import Run
from operant.shared.runs.status import read_status
from operant.trainer.experiment.checkpoints import (
    latest_checkpoint,
    list_checkpoints,
    load_checkpoint,
)

NUM_RANKS = 2
KNOWN_WITHIN_S = 10.0
LIFE_S = 3.0  # from its second iteration on, a run has at most so long
RUN, UNDISTURBED = "faults", "undisturbed"
SETTINGS = (
    "num_envs=12", "rollout_steps=32", "policy.hidden_sizes=[16]", "evaluation.num_episodes=0",
    "checkpoint.every_iterations=20", "checkpoint.keep=1000", "total_env_steps=1000000000000",
)  # fmt: skip


class Fault(NamedTuple):
    """A fault: its type, its rank, the progress of the run, and how long the others took to end."""

    kind: str
    rank: int
    iteration: int
    ended_s: float
    line: str


def settings(name: str) -> list[str]:
    arguments = ["cart_pole_ppo", "--name", name]
    for each in SETTINGS:
        arguments += ["--set", each]
    return arguments


def started(
    machines: Machines, port: int, arguments: list[str], folder: Path
) -> list[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "operant", "train", *arguments]
    return [
        start_rank(machines, rank, port, command, folder / f"rank-{rank}.txt", {})
        for rank in range(NUM_RANKS)
    ]


def faults(machines: Machines, kinds: list[str], seed: int, folder: Path) -> Iterator[Fault]:
    """One after the other. Raises AssertionError at the first that is not got over."""
    moments, numbers = random.Random(seed), ports()
    arguments = settings(RUN)
    for kind in kinds:
        processes = started(machines, next(numbers), arguments, folder)
        try:
            yield fault(machines, processes, kind, moments, folder)
        finally:
            machines.cut_off.clear()
            for process in processes:
                process.kill()
                process.wait()
        latest_checkpoint(find_run(RUN).checkpoint_folder, broken)
        arguments = ["--resume", RUN]


def broken(problem: str) -> None:
    raise AssertionError(f"a checkpoint is broken: {problem}")


def fault(
    machines: Machines, processes: list[Any], kind: str, moments: random.Random, folder: Path
) -> Fault:
    saved = number_of_checkpoints()

    def trains() -> bool:
        for rank, process in enumerate(processes):
            assert process.poll() is None, (folder / f"rank-{rank}.txt").read_text()
        # With a checkpoint of its own: each goes on from where the former came to.
        return number_of_checkpoints() > saved

    wait_for(trains)
    time.sleep(moments.uniform(0.0, LIFE_S))
    victim = moments.randrange(NUM_RANKS)
    iteration = read_status(find_run(RUN)).iteration or 0
    if kind == "cut":
        machines.cut_off.add(victim)
    else:
        processes[victim].send_signal(signal.SIGKILL if kind == "kill" else signal.SIGSTOP)
    began = time.monotonic()
    others = [p for rank, p in enumerate(processes) if kind == "cut" or rank != victim]
    for process in others:
        left_s = began + KNOWN_WITHIN_S - time.monotonic()
        assert process.wait(max(left_s, 0.01)) == 1
    survivor = 1 - victim
    said = (folder / f"rank-{survivor}.txt").read_text()
    lines = [line for line in said.splitlines() if "is gone" in line or "is lost" in line]
    assert lines, said
    assert "Traceback" not in said, said
    return Fault(kind, victim, iteration, time.monotonic() - began, lines[0])


def number_of_checkpoints(name: str = RUN) -> int:
    try:
        return len(list_checkpoints(find_run(name).checkpoint_folder))
    except Exception:  # there is no run yet
        return 0


def check_exact(machines: Machines, run: Run, folder: Path) -> int:
    """How many checkpoints are those of a run that nothing happened to. Raises AssertionError."""
    last = list_checkpoints(run.checkpoint_folder)[-1]
    processes = started(machines, 29_999, settings(UNDISTURBED), folder)
    wait_for(lambda: number_of_checkpoints(UNDISTURBED))
    undisturbed = find_run(UNDISTURBED).checkpoint_folder
    wait_for(lambda: list_checkpoints(undisturbed)[-1].name >= last.name)
    processes[1].terminate()
    assert [process.wait() for process in processes] == [143] * NUM_RANKS
    other = {path.name: path for path in list_checkpoints(undisturbed)}
    paths = [path for path in list_checkpoints(run.checkpoint_folder) if path.name in other]
    assert paths
    for path in paths:
        mine, its = (load_checkpoint(each).state["policy"] for each in (path, other[path.name]))
        assert all(torch.equal(mine[name], its[name]) for name in mine), path.name
    return len(paths)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--freezes", type=int, default=20)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if reason := why_none():
        print(f"skipped: {reason}")
        return 0
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    kinds = ["kill"] * arguments.kills + ["freeze"] * arguments.freezes + ["cut"] * arguments.cuts
    random.Random(seed).shuffle(kinds)
    with tempfile.TemporaryDirectory() as place, Machines(NUM_RANKS) as machines:
        os.environ["OPERANT_HOME"] = place
        found = []
        for each in faults(machines, kinds, seed, Path(place)):
            found.append(each)
            print(f"{len(found):3} {each.kind:6} of rank {each.rank} after iteration "
                  f"{each.iteration}: {each.ended_s:.1f} s; {each.line}", flush=True)  # fmt: skip
        num_same = check_exact(machines, find_run(RUN), Path(place))
    for kind in dict.fromkeys(kinds):
        took_s = sorted(each.ended_s for each in found if each.kind == kind)
        print(f"{kind}: {len(took_s)}, ended within {took_s[-1]:.1f} s, half in "
              f"{took_s[len(took_s) // 2]:.1f} s")  # fmt: skip
    print(f"{num_same} checkpoints are those of an undisturbed run, to the bit")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([each._asdict() for each in found]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
