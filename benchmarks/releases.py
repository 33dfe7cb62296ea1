"""This version of operant and another: waiting times of commands, the cost of publishing, and the
speed of training. Sides alternate, each command in a process of its own.

    git worktree add ../other TAG
    python benchmarks/releases.py ../other [--rounds 7] [--only SAC] [--json FILE]

Both run with this Python and what is installed for it, with caches and runs of their own. Machine
code is compiled before it is measured, from an empty cache; that time is printed as well.
Trainings race in turns of half a second, one side frozen while the other computes: a core's clock
changes too much from one process to the next to compare them otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from measuring import busy, machine, versions, write_json

SIDES = ("this", "other")
BRIEFLY = ("--set", "total_env_steps=8192", "--set", "evaluation.num_episodes=0")
FOREVER = (
    "--set", "total_env_steps=1000000000000", "--set", "evaluation.num_episodes=0",
    # Not the trainer's own choice: a trial of it that is frozen looks slow.
    "--set", f"num_threads={os.cpu_count()}",
)  # fmt: skip
PUBLISHING_PROCESSES = 5
TURN_S, NUM_TURNS = 0.5, 20  # of each side, between two looks at how far they are
PRESETS = {
    "PPO on CartPole": "cart_pole_ppo", "PPO on Pendulum": "pendulum_ppo",
    "PPO on Acrobot": "acrobot_ppo", "DQN on CartPole": "cart_pole_dqn",
    "SAC on Pendulum": "pendulum_sac",
}  # fmt: skip


class Side:
    """One version, started as a stranger to the other."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout = checkout
        folder.mkdir()
        (folder / "operant").symlink_to(checkout, target_is_directory=True)
        self._environ = {
            **os.environ, "PYTHONPATH": str(folder), "HOME": str(folder),
            "OPERANT_HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache"),
            "NUMBA_CACHE_DIR": str(folder / "machine-code"),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }  # fmt: skip
        self.folder = folder

    def run(self, *arguments: str) -> str:
        """The output of `python ARGUMENTS`; `script.py` is a file of its benchmarks."""
        script, *others = arguments
        if script.endswith(".py"):
            arguments = (str(self.checkout / "benchmarks" / script), *others)
        done = subprocess.run(
            [sys.executable, *arguments], env=self._environ, cwd=self.folder, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            command = " ".join(arguments)
            sys.exit(f"{self.checkout}: {command}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def operant(self, *arguments: str) -> str:
        return self.run("-m", "operant", *arguments)

    def env_steps(self) -> int:
        """How far its newest run is."""
        told = json.loads(self.operant("status", "--json"))
        found: int = told["env_steps"]
        return found

    def begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        """`python ARGUMENTS`, a training that goes on until it is killed, once it has begun."""
        trainer = subprocess.Popen(
            [sys.executable, *arguments], env=self._environ, cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while trainer.poll() is None:
            time.sleep(1)
            told = json.loads(self.operant("runs", "--json"))
            if any(run["state"] == "running" and run["env_steps"] for run in told):
                return trainer
        sys.exit(f"{self.checkout}: {arguments}: exit code {trainer.returncode}")


def timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def waits(side: Side) -> dict[str, float]:
    """Seconds until people see something."""
    told = side.folder / "startup.json"
    side.run("startup.py", "--repeats", "1", "--json", str(told))
    seconds = json.loads(told.read_text())["seconds"]
    found = {f"{name} (s)": each["median"] for name, each in seconds.items()}
    return found | {"a training of two iterations (s)": first_training_s(side)}


def first_training_s(side: Side) -> float:
    return timed(lambda: side.operant("train", "cart_pole_ppo", *BRIEFLY))


def publishing(side: Side) -> dict[str, float]:
    """The fastest of several processes: other programs and the core's clock only slow one down."""
    arguments = ("publish.py", "--call-side", "operant", "--calls", "2000")
    answers = [json.loads(side.run(*arguments)) for _ in range(PUBLISHING_PROCESSES)]
    return {"publish, 16 values (us)": min(answer["p50_us"] for answer in answers)}


def training(preset: str) -> tuple[str, ...]:
    return ("-m", "operant", "train", preset, "--device", "cpu", *FOREVER)


def race(
    sides: Mapping[str, Side], commands: Mapping[str, Sequence[str]], rounds: int
) -> dict[str, list[float]]:
    """Env steps/s of each side's command in each of the rounds, in turns of one and the other."""
    trainers = {}
    for name, side in sides.items():
        trainers[name] = side.begin(*commands[name])
        trainers[name].send_signal(signal.SIGSTOP)
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        before = {name: side.env_steps() for name, side in sides.items()}
        seconds = dict.fromkeys(sides, 0.0)
        for number in range(NUM_TURNS):
            for name in list(sides)[:: 1 if number % 2 else -1]:
                seconds[name] += turn(trainers[name])
        for name, side in sides.items():
            found[name].append((side.env_steps() - before[name]) / seconds[name])
    for trainer in trainers.values():
        trainer.kill()
        trainer.wait()
    return found


def turn(trainer: subprocess.Popen[bytes]) -> float:
    """Let a frozen training compute for a while; returns for how many seconds."""
    begun = time.perf_counter()
    trainer.send_signal(signal.SIGCONT)
    time.sleep(TURN_S)
    trainer.send_signal(signal.SIGSTOP)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="a checkout of the other version")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="trainings alone whose name has this in it")
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    result: dict[str, Any] = {"machine": {**machine(), **versions("torch", "numba", "textual")}}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # recorders write
        places = (here, arguments.other.resolve())
        sides = {
            name: Side(checkout, Path(folder, name))
            for name, checkout in zip(SIDES, places, strict=True)
        }
        result |= measured(sides, arguments.rounds, arguments.only)
    write_json(arguments.json, result)


def measured(sides: Mapping[str, Side], rounds: int, only: str) -> dict[str, Any]:
    cold = {name: first_training_s(side) for name, side in sides.items()}
    print(f"from an empty cache: {cold['this']:.1f} s, the other {cold['other']:.1f} s", flush=True)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in SIDES}
    for number in range(0 if only else rounds + 1):  # the first is not counted: it compiles
        for name in SIDES[:: 1 if number % 2 else -1]:
            for measure in (waits, publishing):
                for what, value in measure(sides[name]).items():
                    if number:
                        found[name].setdefault(what, []).append(value)
    for name, preset in PRESETS.items():
        if only not in name:
            continue
        # The other version's settings, for both: presets change.
        settings = str(sides["other"].checkout / "configs" / f"{preset}.toml")
        rates = race(sides, dict.fromkeys(SIDES, training(settings)), rounds)
        for side, values in rates.items():
            found[side][f"{name} (env steps/s)"] = values
    for what, this in found["this"].items():
        other = found["other"][what]
        ratios = [a / b for a, b in zip(this, other, strict=True)]
        print(f"{what:36} {median(this):>12,.3f}  other {median(other):>12,.3f}  ratio "
              f"{median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})  load {busy():.1f}",
              flush=True)  # fmt: skip
    return {"empty cache": cold, "measured": found}


if __name__ == "__main__":
    main()
