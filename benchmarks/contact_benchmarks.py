"""The figures of `first_contact.py`: one process measures them in turn, and is looked after.

What outlasts its limit, or takes the process with it, is recorded, and a fresh process goes on with
the next.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ended import Ended, run_within

SCRIPT = Path(__file__).with_name("gpu.py")
# What is to be shown, the most important first, and what is learned from replay.
BARS = (
    "raw_few_envs", "raw_many_envs", "rollout", "train_4_epochs", "train_1_epoch", "profile",
    "synchronisation", "tinyphysics", "raw_curve", "overlap", "train_bfloat16", "grid_steps",
    "marine_nav_decisions", "out_of_memory", "same_seed",
)  # fmt: skip
REPLAY = (
    "updates_captured", "updates_bfloat16", "replay_draws", "rainbow_per_c51", "replay_waits",
    "dqn_cart_pole", "sac_pendulum", "ac_iqn_marine_nav", "equality",
)  # fmt: skip
REHEARSED = ("fails", "outlasts")
LIMITS_S = {
    "outlasts": 3.0,
    "overlap": 130.0,
    "train_1_epoch": 130.0,
    "train_4_epochs": 130.0,
    "tinyphysics": 120.0,
}
LIMIT_S = 75.0  # of the others, and of the start


def run_benchmarks(contact: Any, names: Sequence[str], routes: Path) -> dict[str, Any]:
    """Measure `names`, as far as the call's time goes."""
    path = contact.out / "figures.json"
    options = ["--dry"] if contact.rehearse else []
    options += ["--tinyphysics", str(routes)] if routes.is_dir() else []
    parts: dict[str, Any] = {}

    def kept() -> dict[str, Any]:
        told = read(path)
        parts.update(told.get("parts", {}))
        errors = sorted(name for name, part in parts.items() if "error" in part)
        answer = {"error": f"in {', '.join(errors)}"} if errors else {}
        answer |= {"on": told.get("machine"), "parts": parts}
        contact.record("benchmarks", answer)
        return answer

    rest, round_ = list(names), 0
    while rest and contact.left_s > 5:
        round_ += 1
        path.unlink(missing_ok=True)
        watch = Watch(path, kept)
        ended = run_within(
            contact.left_s - 2, [sys.executable, str(SCRIPT), str(path), *options, "--only", *rest],
            contact.env, contact.out / "logs" / f"figures_{round_}.log", watch.goes_on,
        )  # fmt: skip
        kept()
        under_way = read(path).get("running", {}).get("part", "start")
        if any(name not in parts for name in rest):
            lost = under_way if under_way in rest else rest[0]
            parts.setdefault(lost, fate(ended, under_way, watch.outlasted))
        rest = [name for name in rest if name not in parts]
    for name in rest:
        parts[name] = {"error": "not begun: the call's time was over"}
    return kept()


class Watch:
    """Looks at what is measured, and for how long."""

    def __init__(self, path: Path, kept: Any) -> None:
        self._path, self._kept = path, kept
        self._part, self._since = "start", time.monotonic()
        self.outlasted = ""  # which part its limit, which is in seconds

    def goes_on(self) -> bool:
        """Whether the part under way is within its limit."""
        part = read(self._path).get("running", {}).get("part", "start")
        if part != self._part:
            self._part, self._since = part, time.monotonic()
            self._kept()
        limit_s = LIMITS_S.get(part, LIMIT_S)
        within = time.monotonic() - self._since < limit_s
        self.outlasted = "" if within else f"{part} outlasted its limit of {limit_s:.0f} s"
        return within


def fate(ended: Ended, under_way: str, outlasted: str) -> dict[str, Any]:
    """What is recorded of a part that its process ended in."""
    error = outlasted or f"while it measured {under_way}: {ended.why()}"
    return {"error": error, "output": ended.last_lines(), "seconds": ended.seconds}


def read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):  # not there yet
        return {}
    return found
