"""Walls, stations, agents with what they hold and where they were, and what one of them sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....shared.episodes.scene import Scene, Shape, area, line, text
from ...envs.grid.kinds import ALTAR, GENERATOR, MINE, REACH, WALL
from ...envs.grid.layout import AGENT_SIZE, BATTERIES, CELL, HEARTS, KINDS, ORE

LETTERS = {MINE: "m", GENERATOR: "g", ALTAR: "a"}
ROLES = {MINE: "obstacle", GENERATOR: "force", ALTAR: "goal"}
TRAIL = 30  # ticks


class Agent(NamedTuple):
    """Where an agent was, the newest place last, [T, 2] rows and columns; and what it holds."""

    places: NDArray[Any]
    ore: int
    batteries: int
    hearts: int


def scene(spec: Any, states: NDArray[Any], selected: int) -> Scene:
    world, first = spec.world, spec.world.first_rows
    state = states[-1]
    cells = state[first["first_cell"] : first["first_map_cell"]].reshape(-1, world.stride)
    kinds = cells[REACH:-REACH, REACH:-REACH].astype(np.int64) % KINDS
    blocks = states[:, first["first_agent"] : first["first_cell"]]
    blocks = blocks[-TRAIL - 1 :].reshape(-1, world.agents, AGENT_SIZE)
    agents = []
    for number in range(world.agents):
        rows, columns = np.divmod(blocks[:, number, CELL].astype(np.int64), world.stride)
        held = (int(blocks[-1, number, field]) for field in (ORE, BATTERIES, HEARTS))
        agents.append(Agent(np.stack([rows, columns], 1) - REACH, *held))
    return arena(kinds, agents, selected)


def arena(kinds: NDArray[Any], agents: Sequence[Agent], selected: int) -> Scene:
    """The drawing of `kinds` [height, width] and of the agents."""
    height, width = kinds.shape
    shapes = [square(row, column, 0.5, "ground", height) for row, column in places(kinds, WALL)]
    for kind, letter in LETTERS.items():
        for row, column in places(kinds, kind):
            shapes.append(square(row, column, 0.45, ROLES[kind], height))
            shapes.append(text(column - 0.2, height - 1 - row - 0.4, letter, "note"))
    if selected < len(agents):
        row, column = agents[selected].places[-1]
        shapes.append(outline(row, column, REACH + 0.5, height, selected))
    for number, agent in enumerate(agents):
        ys, xs = height - 1 - agent.places[:, 0], agent.places[:, 1]
        if len(xs) > 1:
            shapes.append(line(np.stack([xs, ys], 1), "trail", number))
        row, column = agent.places[-1]
        shapes.append(square(row, column, 0.4, "body", height, number))
        held = f"{number + 1}: {agent.ore} {agent.batteries} {agent.hearts}"
        shapes.append(text(column + 0.5, height - 1 - row + 0.9, held, "body", number))
    return Scene((-1, -1), (width, height), tuple(shapes))


def places(kinds: NDArray[Any], kind: int) -> list[list[int]]:
    """Rows and columns of all things of a kind."""
    found: list[list[int]] = np.argwhere(kinds == kind).tolist()
    return found


def corners(row: int, column: int, half: float, height: int) -> list[tuple[float, float]]:
    x, y = column, height - 1 - row
    return [(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)]


def square(row: int, column: int, half: float, role: str, height: int, agent: int = -1) -> Shape:
    return area(corners(row, column, half, height), role, agent)


def outline(row: int, column: int, half: float, height: int, agent: int) -> Shape:
    around = corners(row, column, half, height)
    return line([*around, around[0]], "range", agent)
