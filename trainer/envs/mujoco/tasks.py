"""Observations, rewards, endings and resets of Gymnasium's MuJoCo environments, for N at once.

Source: https://gymnasium.farama.org/environments/mujoco (version 5). Sums are in the order and the
precision of Gymnasium's, so that results are equal to the bit. Ant, Humanoid and HumanoidStandup
need contact forces, which mjbatch does not compute.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass
class Simulations:
    """N simulations of one robot; arrays are live views of mjbatch's."""

    model: Any
    batch: Any
    init_qpos: Array
    init_qvel: Array
    dt: float  # seconds of an env step
    qpos: Array = field(init=False)  # [N, nq]
    qvel: Array = field(init=False)  # [N, nv]
    state: Array = field(init=False)  # [N, nstate], everything that determines the next step

    def __post_init__(self) -> None:
        bind = self.batch.bind
        self.qpos, self.qvel, self.state = bind("qpos"), bind("qvel"), bind("state")

    def position_of(self, body: str) -> Array:
        """[N, 3]."""
        position: Array = self.batch.bind("xpos")[:, self.model.body(body).id]
        return position


class Task(Protocol):
    """The rules of an environment: how episodes begin and end, observations and rewards."""

    fields: ClassVar[tuple[str, ...]]  # that are bound, apart from positions and velocities

    def begin(self, sims: Simulations, random: np.random.Generator) -> tuple[Array, Array]:
        """Positions [nq] and velocities [nv] at the beginning of an episode."""

    def observe(self, sims: Simulations) -> Array:
        """[N, D] float64."""

    def outcome(self, sims: Simulations, actions: Array, before: Array) -> tuple[Array, Array]:
        """Rewards [N] float64 and whether the episode has terminated [N]. `before` are the
        positions before the step.
        """


def _around(random: np.random.Generator, middle: Array, noise: float) -> Array:
    return middle + random.uniform(low=-noise, high=noise, size=len(middle))


def _effort(actions: Array) -> Array:
    """The squares of each row of actions summed up, [N], in the type of the actions."""
    effort: Array = np.square(actions).sum(1)
    return effort


def _length(vectors: Array) -> Array:
    """[N] of [N, K], as np.linalg.norm of each."""
    vectors = np.ascontiguousarray(vectors)
    length: Array = np.sqrt(np.vecdot(vectors, vectors))
    return length


@dataclass(frozen=True)
class Runner:
    """A robot that is paid for its speed along x, and pays for its actions. One that can fall is
    paid for each step as well, until it is outside of its limits.
    """

    control_cost: float
    noise: float
    num_hidden: int = 1  # positions that observations leave out
    has_normal_velocities: bool = False
    can_fall: bool = False
    heights: tuple[float, float] = (-math.inf, math.inf)
    angles: tuple[float, float] = (-math.inf, math.inf)
    most_of_all: float = math.inf  # of every other number in the state
    max_speed: float = math.inf  # in observations
    fields: ClassVar[tuple[str, ...]] = ()

    def begin(self, sims: Simulations, random: np.random.Generator) -> tuple[Array, Array]:
        qpos = _around(random, sims.init_qpos, self.noise)
        if self.has_normal_velocities:
            normals = random.standard_normal(len(sims.init_qvel))
            return qpos, sims.init_qvel + self.noise * normals
        return qpos, _around(random, sims.init_qvel, self.noise)

    def observe(self, sims: Simulations) -> Array:
        velocities = np.clip(sims.qvel, -self.max_speed, self.max_speed)
        return np.concatenate([sims.qpos[:, self.num_hidden :], velocities], 1)

    def outcome(self, sims: Simulations, actions: Array, before: Array) -> tuple[Array, Array]:
        speeds = (sims.qpos[:, 0] - before[:, 0]) / sims.dt
        cost = self.control_cost * _effort(actions)
        if not self.can_fall:
            return speeds - cost, np.zeros(len(cost), np.bool_)
        healthy = self._is_healthy(sims)
        return speeds + healthy * 1.0 - cost, ~healthy

    def _is_healthy(self, sims: Simulations) -> Array:
        z, angle = sims.qpos[:, 1], sims.qpos[:, 2]
        healthy: Array = (self.heights[0] < z) & (z < self.heights[1])
        healthy &= (self.angles[0] < angle) & (angle < self.angles[1])
        if self.most_of_all < math.inf:
            healthy &= (np.abs(sims.qpos[:, 2:]) < self.most_of_all).all(1)
            healthy &= (np.abs(sims.qvel) < self.most_of_all).all(1)
        return healthy


class Pendulum:
    """Ends once the pole leans by more than 0.2 rad; every other step pays 1."""

    fields: ClassVar[tuple[str, ...]] = ()

    def begin(self, sims: Simulations, random: np.random.Generator) -> tuple[Array, Array]:
        qpos = _around(random, sims.init_qpos, 0.01)
        return qpos, _around(random, sims.init_qvel, 0.01)

    def observe(self, sims: Simulations) -> Array:
        return np.concatenate([sims.qpos, sims.qvel], 1)

    def outcome(self, sims: Simulations, actions: Array, before: Array) -> tuple[Array, Array]:
        obs = self.observe(sims)
        terminated: Array = ~np.isfinite(obs).all(1) | (np.abs(obs[:, 1]) > 0.2)
        return (~terminated).astype(np.float64), terminated


class DoublePendulum:
    """Pays 10 for every step with the tip above 1 m, less its distance from the top and speed."""

    fields: ClassVar[tuple[str, ...]] = ("site_xpos", "qfrc_constraint")

    def begin(self, sims: Simulations, random: np.random.Generator) -> tuple[Array, Array]:
        qpos = _around(random, sims.init_qpos, 0.1)
        return qpos, sims.init_qvel + random.standard_normal(len(sims.init_qvel)) * 0.1

    def observe(self, sims: Simulations) -> Array:
        cart, angles = sims.qpos[:, :1], sims.qpos[:, 1:]
        forces = sims.batch.bind("qfrc_constraint")[:, :1]
        limited = np.clip(np.concatenate([sims.qvel, forces], 1), -10, 10)
        return np.concatenate([cart, np.sin(angles), np.cos(angles), limited], 1)

    def outcome(self, sims: Simulations, actions: Array, before: Array) -> tuple[Array, Array]:
        tip = sims.batch.bind("site_xpos")[:, 0]
        x, y = tip[:, 0], tip[:, 2]
        terminated: Array = y <= 1
        distance = 0.01 * x**2 + (y - 2) ** 2
        speed = 1e-3 * sims.qvel[:, 1] ** 2 + 5e-3 * sims.qvel[:, 2] ** 2
        return 10.0 * ~terminated - distance - speed, terminated


class Reacher:
    """Pays for a fingertip near the target and small actions."""

    fields: ClassVar[tuple[str, ...]] = ("xpos",)

    def begin(self, sims: Simulations, random: np.random.Generator) -> tuple[Array, Array]:
        qpos = _around(random, sims.init_qpos, 0.1)
        goal = random.uniform(low=-0.2, high=0.2, size=2)
        while np.linalg.norm(goal) >= 0.2:
            goal = random.uniform(low=-0.2, high=0.2, size=2)
        qpos[-2:] = goal
        qvel = _around(random, sims.init_qvel, 0.005)
        qvel[-2:] = 0
        return qpos, qvel

    def observe(self, sims: Simulations) -> Array:
        angles = sims.qpos[:, :2]
        parts = [
            np.cos(angles),
            np.sin(angles),
            sims.qpos[:, 2:],
            sims.qvel[:, :2],
            self._offset(sims)[:, :2],
        ]
        return np.concatenate(parts, 1)

    def outcome(self, sims: Simulations, actions: Array, before: Array) -> tuple[Array, Array]:
        rewards: Array = -_length(self._offset(sims)) - _effort(actions)
        return rewards, np.zeros(len(rewards), np.bool_)

    def _offset(self, sims: Simulations) -> Array:
        offset: Array = sims.position_of("fingertip") - sims.position_of("target")
        return offset


class Pusher:
    """Pays for an object near the goal, an arm near the object and small actions."""

    fields: ClassVar[tuple[str, ...]] = ("xpos",)

    def begin(self, sims: Simulations, random: np.random.Generator) -> tuple[Array, Array]:
        qpos = sims.init_qpos.copy()
        place = self._place(random)
        while np.linalg.norm(place) <= 0.17:
            place = self._place(random)
        qpos[-4:-2], qpos[-2:] = place, 0
        qvel = _around(random, sims.init_qvel, 0.005)
        qvel[-4:] = 0
        return qpos, qvel

    def _place(self, random: np.random.Generator) -> Array:
        """Where the object lies."""
        x = random.uniform(low=-0.3, high=0, size=1)
        return np.concatenate([x, random.uniform(low=-0.2, high=0.2, size=1)])

    def observe(self, sims: Simulations) -> Array:
        places = [sims.position_of(body) for body in ("tips_arm", "object", "goal")]
        return np.concatenate([sims.qpos[:, :7], sims.qvel[:, :7], *places], 1)

    def outcome(self, sims: Simulations, actions: Array, before: Array) -> tuple[Array, Array]:
        thing = sims.position_of("object")
        near = -_length(thing - sims.position_of("tips_arm")) * 0.5
        distance = -_length(thing - sims.position_of("goal"))
        rewards: Array = distance + -_effort(actions) * 0.1 + near
        return rewards, np.zeros(len(rewards), np.bool_)


TASKS: dict[str, Task] = {
    "HalfCheetah-v5": Runner(0.1, 0.1, has_normal_velocities=True),
    "Hopper-v5": Runner(
        1e-3,
        5e-3,
        can_fall=True,
        heights=(0.7, math.inf),
        angles=(-0.2, 0.2),
        most_of_all=100.0,
        max_speed=10.0,
    ),
    "Walker2d-v5": Runner(
        1e-3, 5e-3, can_fall=True, heights=(0.8, 2.0), angles=(-1.0, 1.0), max_speed=10.0
    ),
    "Swimmer-v5": Runner(1e-4, 0.1, num_hidden=2),
    "InvertedPendulum-v5": Pendulum(),
    "InvertedDoublePendulum-v5": DoublePendulum(),
    "Reacher-v5": Reacher(),
    "Pusher-v5": Pusher(),
}
