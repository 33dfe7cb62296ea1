"""The challenge as its own program runs it, written anew from its description: one route, one
call of the model a step, one thread. What the batched simulator is measured and tested against.
"""

from __future__ import annotations

import hashlib
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas

BINS = np.linspace(-5, 5, 1024)

State = namedtuple("State", ["roll_lataccel", "v_ego", "a_ego"])
FuturePlan = namedtuple("FuturePlan", ["lataccel", "roll_lataccel", "v_ego", "a_ego"])


class Pid:
    """The challenge's baseline."""

    def __init__(self) -> None:
        self.sum = self.former = 0.0

    def update(self, target: float, current: float, state: State, plan: FuturePlan) -> float:
        error = target - current
        self.sum += error
        difference = error - self.former
        self.former = error
        return 0.195 * error + 0.1 * self.sum + -0.053 * difference


def make_session(model: Path | bytes, num_threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    model = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def read_columns(path: Path) -> dict[str, Any]:
    table = pandas.read_csv(path)
    return {
        "roll_lataccel": np.sin(table["roll"].values) * 9.81,
        "v_ego": table["vEgo"].values,
        "a_ego": table["aEgo"].values,
        "target": table["targetLateralAcceleration"].values,
        "steer": -table["steerCommand"].values,
    }


def episode(session: Any, path: Path, controller: Any) -> dict[str, Any]:
    """Drive one route from its first to its last row; returns `actions` and `lataccels` [rows] and
    the three `costs`.
    """
    route = read_columns(path)
    seed = int(hashlib.md5(f"data/{path.name}".encode()).hexdigest(), 16) % 10**4
    random = np.random.RandomState(seed)
    columns = np.stack([route["roll_lataccel"], route["v_ego"], route["a_ego"]], 1)
    actions, lataccels = list(route["steer"][:20]), list(route["target"][:20])
    for step in range(20, len(route["target"])):
        ahead = slice(step + 1, step + 50)
        plan = FuturePlan(
            *(route[k][ahead].tolist() for k in ("target", "roll_lataccel", "v_ego", "a_ego"))
        )
        state = State(*columns[step])
        action = controller.update(route["target"][step], lataccels[-1], state, plan)
        if step < 100:
            action = route["steer"][step]
        actions.append(np.clip(action, -2, 2))
        window = columns[step - 19 : step + 1]
        states = np.column_stack([actions[-20:], window])[None].astype(np.float32)
        encoded = np.digitize(np.clip(lataccels[-20:], -5, 5), BINS, right=True)[None]
        logits = session.run(None, {"states": states, "tokens": encoded.astype(np.int64)})[0]
        scaled = logits[0, -1] / 0.8
        exponentials = np.exp(scaled - scaled.max())
        token = random.choice(1024, p=exponentials / exponentials.sum())
        predicted = np.clip(BINS[token], lataccels[-1] - 0.5, lataccels[-1] + 0.5)
        lataccels.append(predicted if step >= 100 else route["target"][step])
    target, current = route["target"][100:500], np.array(lataccels)[100:500]
    lataccel_cost = np.mean((target - current) ** 2) * 100
    jerk_cost = np.mean((np.diff(current) / 0.1) ** 2) * 100 if len(current) > 1 else 0.0
    return {
        "actions": np.array(actions),
        "lataccels": np.array(lataccels),
        "costs": (lataccel_cost, jerk_cost, 50 * lataccel_cost + jerk_cost),
    }
