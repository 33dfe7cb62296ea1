"""The real MettaGrid and operant's grid on the same map with the same actions, tick by tick.

As a program: `python tools/grid_oracle.py --maps 100 --ticks 1000`, which takes minutes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from operant.trainer.envs.grid.kinds import NUM_ACTIONS, REACH, SYMBOLS, TOKEN_SIZE
from operant.trainer.envs.grid.layout import AGENT_SIZE, BATTERIES, CELL, HEARTS, ORE
from operant.trainer.envs.grid.maps import Map, drawn
from operant.trainer.envs.grid.section import GridConfig
from operant.trainer.envs.grid.world import make_spec
from operant.trainer.envs.mettagrid.section import MettaGridConfig
from operant.trainer.envs.mettagrid.source import describe, make
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.envs.workers.arrays import Arrays, Counters

LETTER_OF = {kind: symbol for symbol, kind in SYMBOLS.items() if symbol != " "}
APART = 3  # cells between agents at the least, so that no two want the same
STEPS = np.array([(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)])


class Pair:
    """Both worlds on one map."""

    def __init__(self, grid_map: Map, path: Any, ticks: int, **options: Any) -> None:
        path.write_text("\n".join(grid_map.rows) + "\n")
        table = {"map": str(path), "num_agents": grid_map.num_agents, "max_steps": ticks, **options}
        self.spec = make_spec(GridConfig(**table))
        self.world = self.spec.world
        self.ours = VectorEnv(self.spec, 1, seed=1)
        self.out = Transitions.of(self.spec, grid_map.num_agents)
        self.ours.reset(self.out.obs)
        agents, size = grid_map.num_agents, self.spec.obs_size
        self.batch: Any = make(
            describe(MettaGridConfig(**table)), 1, Counters(np.zeros(3), np.zeros(1, np.int64))
        )
        self.arrays = Arrays(
            np.zeros(agents, np.int64), np.zeros((agents, size), np.uint8),
            np.zeros(agents, np.float32), np.zeros(agents, np.bool_), np.zeros(agents, np.bool_),
            np.zeros((agents, size), np.uint8), np.ones(agents, np.bool_),
        )  # fmt: skip
        self.batch.attach(self.arrays)
        self.batch.reset(np.zeros(1, np.uint64))

    def step(self, actions: Any) -> None:
        self.ours.step(np.asarray(actions), self.out)
        self.arrays.actions[:] = actions
        self.batch.step()

    def blocks(self) -> Any:
        """The agents' numbers in our state, [A, fields]."""
        first = self.world.first_rows["first_agent"]
        fields = self.ours.state.fields[first : first + self.world.agents * AGENT_SIZE, 0]
        return fields.reshape(-1, AGENT_SIZE)

    def positions(self) -> Any:
        """Ours, [A, 2]."""
        rows, columns = np.divmod(self.blocks()[:, CELL].astype(int), self.world.stride)
        return np.stack([rows, columns], 1) - REACH

    def check(self) -> None:
        """Everything is equal now. Raises AssertionError."""
        ours, theirs = self.blocks(), np.zeros((self.world.agents, 5))
        for thing in self.batch.objects(0):
            if "agent_id" in thing:
                held = [thing.get(f"inv:{name}", 0) for name in ("ore", "battery", "heart")]
                theirs[thing["agent_id"]] = [thing["r"], thing["c"], *held]
        assert (self.positions() == theirs[:, :2]).all()
        assert (ours[:, [ORE, BATTERIES, HEARTS]] == theirs[:, 2:]).all()
        assert np.allclose(self.out.reward, self.arrays.reward, atol=1e-5)
        assert (self.out.truncated == self.arrays.truncated).all()
        assert (in_order(self.out.obs) == in_order(self.arrays.obs)).all()
        # Cell after cell, too; only what one thing holds is listed in another order.
        assert (self.out.obs[:, ::TOKEN_SIZE] == self.arrays.obs[:, ::TOKEN_SIZE]).all()


def in_order(obs: Any) -> Any:
    """Tokens [A, K] as whole numbers in a row."""
    tokens = obs.reshape(len(obs), -1, TOKEN_SIZE).astype(np.int64)
    return np.sort(tokens @ np.array([2**16, 2**8, 1]), axis=1)


def random_map(random: np.random.Generator, num_agents: int) -> Map:
    """Full of stations, agents far from each other; of one size, which is what is compiled for."""
    while True:
        height, width = 15, 18
        counts = int(random.integers(0, 30)), 8, 8, 8, num_agents
        kinds = drawn(height, width, counts, random)
        grid_map = Map(tuple("".join(LETTER_OF[int(kind)] for kind in row) for row in kinds))
        if is_apart(np.argwhere(kinds == SYMBOLS["@"])):
            return grid_map


def is_apart(positions: Any) -> bool:
    between = abs(positions[:, None] - positions[None]).sum(-1)
    return bool((between[~np.eye(len(positions), dtype=bool)] >= APART + 2).all())


def kept_apart(pair: Pair, actions: Any) -> Any:
    """The actions, but that who would come too near to another stays."""
    positions = pair.positions()
    for agent in range(len(actions)):
        wanted = positions.copy()
        wanted[agent] += STEPS[actions[agent]]
        gaps = abs(np.delete(wanted, agent, 0) - wanted[agent]).sum(-1)
        if len(gaps) and gaps.min() < APART + 2:
            actions[agent] = 0
    return actions


def play(seed: int, path: Any, ticks: int, num_agents: int) -> float:
    """One map and episode and the start of the next; returns the sum of rewards."""
    random = np.random.default_rng(seed)
    pair = Pair(
        random_map(random, num_agents), path, ticks, cooldown=int(random.integers(0, 8)),
        ore_limit=int(random.integers(1, 4)), battery_limit=int(random.integers(1, 4)),
        ore_reward=0.1, battery_reward=0.3, ore_reward_cap=0.2, battery_reward_cap=0.7,
    )  # fmt: skip
    pair.check()
    total, heading = 0.0, random.integers(0, NUM_ACTIONS, num_agents)
    for _ in range(ticks):
        turns = random.random(num_agents) < 0.4  # straight on for a while, so as to get around
        heading = np.where(turns, random.integers(0, NUM_ACTIONS, num_agents), heading)
        pair.step(kept_apart(pair, heading.copy()))
        pair.check()
        total += float(pair.out.reward.sum())
    assert pair.out.truncated.all()
    return total


def main() -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maps", type=int, default=100)
    parser.add_argument("--ticks", type=int, default=1000)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        totals = [
            play(seed, Path(folder) / f"{seed}.txt", arguments.ticks, 1 + seed % 2 * 2)
            for seed in range(arguments.maps)
        ]
    print(f"{len(totals)} maps x {arguments.ticks} ticks are the same; rewards {sum(totals):.1f}")


if __name__ == "__main__":
    main()
