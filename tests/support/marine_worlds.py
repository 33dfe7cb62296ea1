"""Worlds of MarineNav stepped one by one in either precision, and the authors' recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from operant.trainer.envs.marine_nav.compiled_world import (
    OBS_SCALE,
    World,
    bindings_of,
    functions_of,
)
from operant.trainer.envs.marine_nav.layout import NOISE_SIZE, OBS_SIZE, ROBOT_SIZE
from operant.trainer.envs.marine_nav.scenario import Scenario, put_scenario
from operant.trainer.jit.compiling import compiled
from operant.trainer.jit.templates import rebound

RECORDINGS = Path(__file__).parents[1] / "data" / "marine_nav"


def recording(name: str) -> Any:
    return np.load(RECORDINGS / f"{name}.npz")


def recorded_scenario(recorded: Any) -> Scenario:
    vortices = np.column_stack(
        [recorded["core_xy"], recorded["core_cw"], recorded["core_gamma"]]
    ).reshape(-1, 4)
    return Scenario(
        recorded["start"], recorded["goal"], recorded["theta0"], recorded["obst_xyr"], vortices
    )


def compiled_for(function: Any, world: World) -> Any:
    """One of MarineNav's functions by itself."""
    return compiled(rebound(function, compiled, bindings_of(world)))


class OneWorld:
    """One world, with everything that a step gives, in the precision of the world and SI units."""

    _compiled: ClassVar[dict[World, Any]] = {}

    def __init__(self, world: World, seed: int = 1, number: int = 0) -> None:
        self.world = world
        first = world.first_rows
        rows, dtype = world.robots, world.precision
        self.state = np.zeros((first["state_size"], 1), dtype)
        self.reward, self.obs = np.zeros(rows, dtype), np.zeros((rows, OBS_SIZE), dtype)
        self.terminated, self.valid = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        self.random = (np.int64(number), np.int64(0), np.uint64(seed), np.uint64(0))
        if world not in self._compiled:
            self._compiled[world] = [compiled(f) for f in functions_of(world)]
        _, self._start, self._step, self._observe = self._compiled[world]

    def start(self, scenario: Scenario, noise: Any = None) -> None:
        put_scenario(self.state, 0, scenario, self.world)
        self._inject(noise)
        self._start(self.state, 0, self.random)
        self._see()

    def step(self, actions: Any, noise: Any = None) -> bool:
        self._inject(noise)
        is_over = self._step(
            self.state, 0, self.random, actions, self.reward, self.terminated, self.valid
        )
        self._see()
        return bool(is_over)

    def robots(self, *fields: int) -> Any:
        """These fields of all robots, [R, fields]."""
        first = self.world.first_rows["first_robot"]
        blocks = self.state[first : first + self.world.robots * ROBOT_SIZE, 0]
        return blocks.reshape(-1, ROBOT_SIZE)[:, list(fields)].copy()

    def _see(self) -> None:
        """Write the observations in SI units, as the recordings have them."""
        self._observe(self.state, 0, self.obs)
        self.obs /= OBS_SCALE.astype(self.obs.dtype)

    def _inject(self, noise: Any) -> None:
        """Noise [R, O + R, 5] of as many robots and obstacles as there are; none where it is None.

        Seen from a radius of R (0.8 + 0.2 angle / pi), an angle of pi is none.
        """
        if self.world.noise != "injected":
            return
        room, most = self.world.obstacles, self.world.robots
        slots = np.zeros((most, room + most, NOISE_SIZE))
        slots[..., 4] = np.pi
        if noise is not None:
            robots, things = noise.shape[:2]
            obstacles = things - robots
            slots[:robots, :obstacles] = noise[:, :obstacles]
            slots[:robots, room : room + robots] = noise[:, obstacles:]
        self.state[self.world.first_rows["first_noise"] :, 0] = np.nan_to_num(slots).reshape(-1)
