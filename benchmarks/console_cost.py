"""How much the console slows down training, and how much of a core its keeper and the monitor use.

The speed of training is that of `operant train cart_pole_ppo --json` with a console and without,
alternating. The shares of a core are those of the keeper and of a monitor in a terminal of 120 x
40, beside a process that prints 1,000 lines a second into a terminal and publishes 10 times a
second; the monitor once with the console pane and once without.

    python benchmarks/console_cost.py [--repeats 5] [--seconds 20] [--per-s 1000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from measuring import CoreUse, machine, summary, versions, write_json
from terminal import drain, operant_in_a_terminal, read_until

PRINTS = """
import sys, time
import operant
operant.init(name="prints", console=True)
per_s, began = float(sys.argv[1]), time.perf_counter()
number = 0
while True:
    number += 1
    print(f"step {number}: loss=0.1234 kl=0.0021 entropy=1.234 value_loss=33.21 learning_rate=3e-4")
    if number % (per_s // 10) == 0:
        operant.log({"loss": 1.0 / number}, step=number)
    time.sleep(max(0.0, number / per_s - (time.perf_counter() - began)))
"""


def env_steps_per_s(console: str, num_env_steps: float) -> float:
    """The speed of a whole training, without its start."""
    done = subprocess.run(
        [sys.executable, "-m", "operant", "train", "cart_pole_ppo", "--json",
         "--set", f"total_env_steps={num_env_steps:.0f}", "--set", "evaluation.every_iterations=0"],
        env={**os.environ, "OPERANT_CONSOLE": console},
        capture_output=True, check=True,
    )  # fmt: skip
    return float(json.loads(done.stdout)["env_steps_per_s"])


def keeper_of(home: str) -> int:
    """The process that keeps the console of the only run in `home`."""
    while True:
        for folder in Path("/proc").glob("[0-9]*"):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"operant.shared.console.capture" in words and home.encode() in b" ".join(words):
                return int(folder.name)
        time.sleep(0.1)


def monitor_fraction(panes: list[str], config: Path, seconds: float) -> float:
    settings = config / "operant" / "monitor.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"panes = {json.dumps(panes)}\n")
    with operant_in_a_terminal("monitor", "--latest") as (process_id, terminal):
        read_until(terminal, b"loss=0.1234" if "console" in panes else b"loss")
        drain(os.dup(terminal))  # which stays open: its number must not be another terminal's
        time.sleep(3.0)
        use = CoreUse(process_id)
        time.sleep(seconds)
        return use.fraction()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--env-steps", type=float, default=2e6)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--per-s", type=float, default=1000.0)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    speeds: dict[str, list[float]] = {"on": [], "off": []}
    shares: dict[str, float] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ |= {"OPERANT_HOME": home, "XDG_CONFIG_HOME": home, "OPERANT_RECORDER": "off"}
        for number in range(arguments.repeats):
            for console in list(speeds)[:: 1 if number % 2 else -1]:
                speeds[console].append(env_steps_per_s(console, arguments.env_steps))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ |= {"OPERANT_HOME": home, "XDG_CONFIG_HOME": home}
        ours, theirs = pty.openpty()
        command = [sys.executable, "-c", PRINTS, str(arguments.per_s)]
        with subprocess.Popen(command, stdout=theirs, stderr=theirs) as process:
            drain(ours)
            use = CoreUse(keeper_of(home))
            time.sleep(arguments.seconds)
            shares["keeper"] = use.fraction()
            for name, panes in (("with", ["charts", "console"]), ("without", ["charts", "time"])):
                shares[f"monitor {name} console"] = monitor_fraction(
                    panes, Path(home), arguments.seconds
                )
            process.kill()
    ratios = [on / off for on, off in zip(speeds["on"], speeds["off"], strict=True)]
    if ratios:
        print(
            f"training with a console: {median(ratios):.3f} of the speed without "
            f"({min(ratios):.3f} to {max(ratios):.3f})"
        )
    for name, share in shares.items():
        print(f"{name}: {share:.2%} of a core at {arguments.per_s:.0f} lines a second")
    result = {name: summary(found) for name, found in speeds.items() if found}
    about = {**machine(), **versions("numpy", "torch", "textual")}
    write_json(arguments.json, {"machine": about, "env_steps_per_s": result, "shares": shares})


if __name__ == "__main__":
    main()
