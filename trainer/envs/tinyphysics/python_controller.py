"""Runs any controller class of the challenge, one object per route."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ....shared.errors import OperantError, UsageError
from .constants import PLAN_STEPS
from .simulator import Simulation

PACKAGE = "controllers"  # the package in which the challenge imports controllers


class State(NamedTuple):
    """The car at one step: m/s^2, m/s, m/s^2."""

    roll_lataccel: float
    v_ego: float
    a_ego: float


class FuturePlan(NamedTuple):
    """The next 49 rows of the route, fewer at its end."""

    lataccel: list[float]
    roll_lataccel: list[float]
    v_ego: list[float]
    a_ego: list[float]


class PythonController:
    """Calls `update(target_lataccel, current_lataccel, state, future_plan)` for every route."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self._make, self._name = make, name

    def begin(self, simulation: Simulation) -> None:
        self._controllers = [self._make() for _ in range(simulation.num_routes)]
        series = (
            simulation.targets,
            simulation.roll_lataccels,
            simulation.v_egos,
            simulation.a_egos,
        )
        # [N, T]: a route's plan is a slice.
        self._series = [values.T.cpu().numpy().copy() for values in series]
        self._num_rows = simulation.num_rows.cpu().numpy()

    def actions(self, simulation: Simulation, step: int) -> Tensor:
        running = simulation.num_running(step)
        current = simulation.lataccels[step - 1, :running].tolist()
        answers = [self._update(route, step, current[route]) for route in range(running)]
        return torch.tensor(answers, dtype=torch.float64, device=simulation.device)

    def _update(self, route: int, step: int, current: float) -> float:
        plan = slice(step + 1, min(step + 1 + PLAN_STEPS, self._num_rows[route]))
        targets, rolls, v_egos, a_egos = (values[route] for values in self._series)
        answer = self._controllers[route].update(
            targets[step],
            current,
            State(rolls[step], v_egos[step], a_egos[step]),
            FuturePlan(*(values[plan].tolist() for values in (targets, rolls, v_egos, a_egos))),
        )
        try:
            action = float(answer)
        except (TypeError, ValueError):
            action = math.nan
        if not math.isfinite(action):
            raise OperantError(
                f"the controller {self._name} gave {answer!r} at step {step}: not a finite number"
            )
        return action


def load_python_controller(path: Path) -> PythonController:
    """The class `Controller` of a file, imported as the challenge imports it: as a module of a
    package `controllers` with a `BaseController`. Raises UsageError.
    """
    if not path.is_file():
        raise UsageError(f"no controller at {path}: there is no such file")
    package = ModuleType(PACKAGE)
    package.__path__ = [str(path.parent)]
    package.BaseController = type(  # type: ignore[attr-defined]
        "BaseController", (), {"update": lambda *_: None}
    )
    sys.modules[PACKAGE] = package
    name = f"{PACKAGE}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the file may raise anything
        raise UsageError(f"{path}: {type(error).__name__}: {error}") from None
    controller: Any = getattr(module, "Controller", None)
    if not callable(getattr(controller, "update", None)):
        raise UsageError(f"{path} has no class Controller with a method update")
    return PythonController(controller, path.name)
