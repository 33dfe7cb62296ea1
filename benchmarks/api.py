"""The speed of training by the command, from Python, and from Python with a callback that has all
five methods. The three take turns of half a second, as the sides of releases.py do.

    python benchmarks/api.py [--rounds 15] [--json FILE]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from measuring import busy, machine, versions, write_json
from releases import FOREVER, Side, race, training

PRESET = "cart_pole_ppo"
SETTINGS = dict(pair.split("=") for pair in FOREVER if "=" in pair)
HOOKS = ("on_start", "on_iteration", "on_evaluation", "on_checkpoint", "on_end")
IDLE = f"type('Idle', (), {{name: lambda self, run: None for name in {HOOKS}}})()"


def script(callbacks: str) -> tuple[str, str]:
    settings = ", ".join(f"{key!r}: {value}" for key, value in SETTINGS.items())
    call = f"operant.train({PRESET!r}, device='cpu', callbacks=[{callbacks}], **{{{settings}}})"
    return ("-c", f"import operant; {call}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    commands = {
        "operant train": training(PRESET),
        "operant.train": script(""),
        "operant.train with a callback": script(IDLE),
    }
    here = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # recorders write
        sides = {name: Side(here, Path(folder, name)) for name in commands}
        rates = race(sides, commands, arguments.rounds)
    command = rates["operant train"]
    for name, rate in rates.items():
        ratios = [a / b for a, b in zip(rate, command, strict=True)]
        print(f"{name:30} {median(rate):>10,.0f} env steps/s  ratio {median(ratios):.3f} "
              f"({min(ratios):.3f} to {max(ratios):.3f})  load {busy():.1f}")  # fmt: skip
    write_json(arguments.json, {"machine": {**machine(), **versions("torch", "numba")}, **rates})


if __name__ == "__main__":
    main()
