"""How much of the return counts for whoever is the more careful the nearer things are.

    c = min(d, 10 m) / 10 m    d: how far the nearest thing is from being touched, 0 at least

Sources: Lin et al. 2024, arXiv:2402.11799, of kinematic vessels; Lin et al. 2023, arXiv:2307.16240,
of one with a sonar, for which d is the length of its shortest beam that hits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .constants import RANGE_M
from .kinematic import FIRST_SEEN_ROBOT, NUMBERS, OWN_SIZE, SEEN_OBSTACLE_SIZE, SEEN_ROBOT_SIZE
from .sonar import OWN_SIZE as SONAR_OWN_SIZE
from .world import World, obs_scale

CAREFREE_M = 10.0


def adaptive_risk(world: World, obs: Tensor) -> Tensor:
    """c [B] of what robots of `world` observe, [B, obs_size]."""
    metres = obs / torch.as_tensor(obs_scale(world), dtype=obs.dtype, device=obs.device)
    gaps = sonar_gaps(metres) if world.vessels == "sonar" else kinematic_gaps(metres)
    return gaps.amin(-1).clamp(0, CAREFREE_M) / CAREFREE_M


def kinematic_gaps(obs: Tensor) -> Tensor:
    """Metres [B, 10] to each thing that may be seen; far where there is none."""
    hull_m = NUMBERS["HULL_RADIUS_M"]
    obstacles = obs[:, OWN_SIZE:FIRST_SEEN_ROBOT].unflatten(-1, (-1, SEEN_OBSTACLE_SIZE))
    robots = obs[:, FIRST_SEEN_ROBOT:].unflatten(-1, (-1, SEEN_ROBOT_SIZE))
    to_obstacles = obstacles[..., :2].norm(dim=-1) - obstacles[..., 2] - hull_m
    to_robots = robots[..., :2].norm(dim=-1) - 2 * hull_m
    # Rows of zeros are nothing: a thing in the same place has been collided with before.
    is_there = torch.cat([x.any(-1) for x in (obstacles, robots)], -1)
    return torch.cat([to_obstacles, to_robots], -1).where(is_there, RANGE_M)


def sonar_gaps(obs: Tensor) -> Tensor:
    """Metres [B, 11] to where each beam hits; far where it hits nothing."""
    hits = obs[:, SONAR_OWN_SIZE:].unflatten(-1, (-1, 2))
    gaps: Tensor = hits.norm(dim=-1).where(hits.any(-1), RANGE_M)
    return gaps
