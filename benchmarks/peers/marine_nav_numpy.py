"""MarineNav without currents as a batch in NumPy: every robot of every sea in each expression.

What one gets by writing the equations down for arrays [E, R]; begins episodes with scenarios made
before. A test holds it against operant's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

HULL_M, RANGE_M, SEEN = 0.5 * np.hypot(5.0, 2.5), 20.0, 5
STEP_S, SUBSTEPS = 0.05, 10
TURN = 2 * np.pi
FAR_M = 1e9


class Scenarios(NamedTuple):
    """M scenarios: starts and goals [M, R, 2], headings [M, R], obstacles [M, O, 3]."""

    starts: Array
    goals: Array
    headings: Array
    obstacles: Array


class NumpySeas:
    """E seas of R robots and O obstacles; `obs` [E, R, 37] after each step."""

    def __init__(self, num_envs: int, scenarios: Scenarios, seed: int, dtype: Any, noise: bool):
        self.scenarios, self.dtype, self.noise = scenarios, dtype, noise
        self.random = np.random.default_rng(seed)
        _, robots, obstacles = (
            scenarios.starts.shape[0],
            *map(len, (scenarios.starts[0], scenarios.obstacles[0])),
        )
        self.shape = num_envs, robots
        pair, single = (*self.shape, 2), self.shape
        self.position, self.goal, self.water, self.ground = (
            np.zeros(pair, dtype) for _ in range(4)
        )
        self.thrust = np.zeros(pair, dtype)
        self.heading, self.yaw_rate, self.seen_yaw_rate, self.distance = (
            np.zeros(single, dtype) for _ in range(4)
        )
        self.obstacles = np.zeros((num_envs, obstacles, 3), dtype)
        self.active = np.zeros(single, np.bool_)
        self.steps = np.zeros(num_envs, np.int64)
        self._next = 0
        self.begin(np.arange(num_envs))
        self.obs, _, _ = self.look(self.active)

    def begin(self, envs: Array) -> None:
        """Begin the next of the scenarios in these seas."""
        chosen = (self._next + np.arange(len(envs))) % len(self.scenarios.starts)
        self._next += len(envs)
        self.position[envs], self.goal[envs] = (
            self.scenarios.starts[chosen],
            self.scenarios.goals[chosen],
        )
        self.heading[envs], self.obstacles[envs] = (
            self.scenarios.headings[chosen],
            self.scenarios.obstacles[chosen],
        )
        for rows in (self.water, self.ground, self.thrust, self.yaw_rate, self.seen_yaw_rate):
            rows[envs] = 0
        self.distance[envs] = np.linalg.norm(self.goal[envs] - self.position[envs], axis=-1)
        self.active[envs], self.steps[envs] = True, 0

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Rewards, terminated, truncated and valid, each [E, R], of actions [E, R, 2]."""
        valid = self.active.copy()
        before = self.distance
        self.move(actions, valid)
        self.obs, collided, evasion = self.look(valid)
        self.distance = np.linalg.norm(self.goal - self.position, axis=-1)
        arrived = self.distance <= 2.0
        reward = -0.1 + before - self.distance - 0.1 * evasion
        reward += np.where(collided, -5.0, np.where(arrived, 10.0, 0.0))
        terminated = valid & (collided | arrived)
        self.active &= ~terminated
        self.steps += 1
        is_over = (self.steps >= 1000) | ~self.active.any(1)
        truncated = is_over[:, None] & valid & ~terminated
        if is_over.any():
            envs = np.flatnonzero(is_over)
            self.begin(envs)
            obs, _, _ = self.look(self.active)  # as a batch does it: everywhere, and kept where due
            self.obs[envs] = obs[envs]
        return np.where(valid, reward, 0).astype(self.dtype), terminated, truncated, valid

    def move(self, actions: Array, valid: Array) -> None:
        """Ten sub-steps of the vessels."""
        thrust = np.clip(self.thrust + np.clip(actions, -1, 1) * 500.0, -500.0, 1000.0)
        left, right = thrust[..., 0], thrust[..., 1]
        x, y = self.position[..., 0], self.position[..., 1]
        wx, wy, heading, r = self.water[..., 0], self.water[..., 1], self.heading, self.yaw_rate
        seen_x, seen_y, seen_r = wx, wy, r
        for _ in range(SUBSTEPS):
            seen_x, seen_y, seen_r = wx, wy, r
            x, y, heading = x + wx * STEP_S, y + wy * STEP_S, (heading + r * STEP_S) % TURN
            cosine, sine = np.cos(heading), np.sin(heading)
            a, b = cosine * wx + sine * wy, cosine * wy - sine * wx
            surge = (400 * r * b - (100 + 150 * abs(a)) * a + left + right) / 380
            sway = (-400 * r * a + 20 * a * r - (100 + 150 * abs(b)) * b) / 400
            yaw = (-20 * a * b - (980 + 950 * abs(r)) * r + 1.25 * (left - right)) / 1430
            a, b, r = a + surge * STEP_S, b + sway * STEP_S, r + yaw * STEP_S
            wx, wy = cosine * a - sine * b, sine * a + cosine * b
        for rows, new in (
            (self.thrust, thrust), (self.position, np.stack([x, y], -1)),
            (self.water, np.stack([wx, wy], -1)), (self.ground, np.stack([seen_x, seen_y], -1)),
        ):  # fmt: skip
            np.copyto(rows, new, where=valid[..., None], casting="same_kind")
        for rows, new in (
            (self.heading, heading),
            (self.yaw_rate, r),
            (self.seen_yaw_rate, seen_r),
        ):
            np.copyto(rows, new, where=valid, casting="same_kind")

    def look(self, valid: Array) -> tuple[Array, Array, Array]:
        """Observations [E, R, 37], who collided, and the angles that the rules ask for, [E, R]."""
        num_envs, robots = self.shape
        obstacles = self.obstacles.shape[1]
        things = np.concatenate([self.obstacles[..., :2], self.position], 1)[:, None]
        speeds = np.concatenate([np.zeros((num_envs, obstacles, 2), self.dtype), self.ground], 1)
        radii = np.full((num_envs, 1, obstacles + robots), HULL_M, self.dtype)
        radii[:, 0, :obstacles] = self.obstacles[..., 2]
        true = things - self.position[:, :, None]
        away, speed, radius = true, np.broadcast_to(speeds[:, None], true.shape), radii
        if self.noise:
            errors = self.random.standard_normal((2, *true.shape), np.float32) * np.float32(0.05)
            angles = self.random.vonmises(0, 1, true.shape[:-1]).astype(self.dtype)
            away, speed = true + errors[0], speed + errors[1]
            radius = radii * (0.8 + 0.2 * angles / np.pi)
        distance = np.sqrt((away**2).sum(-1))
        there = np.concatenate([np.ones((num_envs, obstacles), np.bool_), valid], 1)[:, None]
        there = there & ~np.concatenate(
            [np.zeros((robots, obstacles), np.bool_), np.eye(robots, dtype=np.bool_)], 1
        )
        seen = there & (distance <= RANGE_M + radius) & valid[..., None]
        gap = np.sqrt((true**2).sum(-1)) - radii - HULL_M
        collided = (seen & (gap <= 0)).any(-1)
        nearness = np.where(seen, distance - radius - HULL_M, FAR_M)
        order = np.argsort(nearness, -1, kind="stable")[..., :SEEN]
        mask = np.take_along_axis(seen, order, -1)

        cosine, sine = np.cos(self.heading)[..., None], np.sin(self.heading)[..., None]

        def nearest(values: Array) -> Array:
            return np.take_along_axis(np.broadcast_to(values, seen.shape), order, -1)

        x, y, u, v = (
            nearest(z) for z in (away[..., 0], away[..., 1], speed[..., 0], speed[..., 1])
        )
        x, y, u, v = (
            cosine * x + sine * y,
            cosine * y - sine * x,
            cosine * u + sine * v,
            cosine * v - sine * u,
        )
        size = nearest(radius)
        goal = self.goal - self.position
        own = self.ground
        itself = np.stack(
            [
                cosine[..., 0] * goal[..., 0] + sine[..., 0] * goal[..., 1],
                cosine[..., 0] * goal[..., 1] - sine[..., 0] * goal[..., 0],
                cosine[..., 0] * own[..., 0] + sine[..., 0] * own[..., 1],
                cosine[..., 0] * own[..., 1] - sine[..., 0] * own[..., 0],
                self.seen_yaw_rate, self.thrust[..., 0], self.thrust[..., 1],
            ],
            -1,
        )  # fmt: skip
        evasion = evasion_angles(x, y, u, v, size, itself[..., 2:3], itself[..., 3:4], mask)
        rows = np.where(mask[..., None], np.stack([x, y, u, v, size], -1), 0)
        parts = [itself, rows.reshape(*self.shape, -1), mask]
        obs = np.concatenate(parts, -1) * valid[..., None]
        return obs.astype(self.dtype), collided, evasion


def evasion_angles(
    x: Array, y: Array, u: Array, v: Array, radius: Array, own_u: Array, own_v: Array, mask: Array
) -> Array:
    """The angle of the first object, of five, for which the rules ask for one; else 0."""
    speed, own_speed = np.hypot(u, v), np.hypot(own_u, own_v)
    is_fast = mask & (speed >= 0.5) & (own_speed >= 0.5)
    cosine, sine = u / np.maximum(speed, 1e-9), v / np.maximum(speed, 1e-9)
    there_x, there_y = -(cosine * x + sine * y), sine * x - cosine * y
    along, across = cosine * own_u + sine * own_v, cosine * own_v - sine * own_u
    crossing = (there_x >= -9) & (there_x <= 12) & (there_y >= -17) & (there_y <= 0)
    crossing &= (there_y + 7 <= -7 / 12 * (there_x - 12)) & (across > 0) & (abs(along) <= across)
    head_on = (there_x >= 0) & (there_x <= 17) & (abs(there_y) <= 4.5)
    head_on &= (along < 0) & (abs(across) < -along)
    distance, gap = np.hypot(x, y), radius + 1
    tangent = np.sqrt(np.maximum(distance**2 - gap**2, 0))
    desired = np.arctan2(y, x) + np.arctan2(gap, tangent) + np.arctan2(HULL_M, tangent)
    angle = half_turn(half_turn(desired) - np.arctan2(own_v, own_u))
    applies = is_fast & (crossing | head_on) & (distance >= gap) & (angle > 0)
    first = applies & (np.cumsum(applies, -1) == 1)
    return np.where(first, angle, 0).sum(-1)


def half_turn(angle: Array) -> Array:
    return (angle + np.pi) % TURN - np.pi
