"""PPO with a memory, end to end, in env steps per second: operant's preset cart_pole_memory_ppo
with an LSTM, with a GRU and without any, beside SB3-contrib's RecurrentPPO of the same sizes.
Sides alternate, a process each.

    python benchmarks/memory.py [--seeds 1 2 3] [--env-steps 49152] [--threads 1] [--json FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from measuring import busy, machine, run_side, versions, write_json

PEERS = Path(__file__).parent / "peers"
PRESET = "cart_pole_memory_ppo"


def main() -> None:
    arguments = parsed()
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in arguments.seeds:
        for name, (script, *others) in sides(arguments.threads).items():
            steps = arguments.env_steps * (10 if "operant" in script else 1)
            run = run_side(str(PEERS / script), str(seed), str(steps), *others)
            found.setdefault(name, []).append(run)
            speed, startup_s = run["env_steps_per_s"], run["startup_s"]
            print(f"  {name:<28} seed {seed}  {speed:>9,.0f} env steps/s"
                  f"  start-up {startup_s:.1f} s  load {busy():.1f}", flush=True)  # fmt: skip
    for name, runs in found.items():
        speeds = [run["env_steps_per_s"] for run in runs]
        print(f"{name:<28} {median(speeds):>9,.0f} ({min(speeds):,.0f} to {max(speeds):,.0f})")
    about = {**machine(), **versions("torch", "numba", "sb3-contrib", "gymnasium")}
    write_json(arguments.json, {"machine": about, "results": found})


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument(
        "--env-steps", type=int, default=49_152, help="of the other; operant takes ten times that"
    )
    parser.add_argument("--threads", type=int, default=1, help="of each side")
    parser.add_argument("--json", help="also write everything to this file")
    return parser.parse_args()


def sides(threads: int) -> dict[str, tuple[str, ...]]:
    """Each one's script, and what it is told besides the seed and the env steps."""
    ours = {
        f"operant, {kind}": (
            "operant_ppo.py", PRESET, f"policy.memory.kind={kind}", f"num_threads={threads}"
        )
        for kind in ("lstm", "gru", "none")
    }  # fmt: skip
    return {**ours, "SB3-contrib RecurrentPPO": ("sb3_recurrent_ppo.py", str(threads))}


if __name__ == "__main__":
    main()
