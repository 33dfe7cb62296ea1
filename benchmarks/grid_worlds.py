"""Agents in grid worlds: operant's own beside the real MettaGrid.

Without RUN, raw steps of both in turn, each agent's counted, with random actions made before:
observations, rewards and flags are written, and ended episodes begun anew. MettaGrid's worlds are
stepped one after the other by its compiled core, as `env = "mettagrid"` has them without workers.

With RUN, hearts per agent and 1,000 ticks of its policy's greedy play, of a random one's and of the
policy where it draws its actions, in the worlds of the run's own table: each in both worlds.

    python benchmarks/grid_worlds.py [--envs 2048] [--rounds 5] [--json FILE]
    python benchmarks/grid_worlds.py RUN [RUN ...] [--episodes 16] [--json FILE]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numba
import numpy as np
import torch
from measuring import busy, machine, summary, versions, write_json

from operant.shared.find_runs import find_run
from operant.trainer.envs import make_envs
from operant.trainer.envs.grid.making import make_spec
from operant.trainer.envs.grid.section import ArenaSection, GridConfig
from operant.trainer.envs.mettagrid.section import MettaGridConfig
from operant.trainer.envs.mettagrid.source import source_of
from operant.trainer.envs.streams import EVALUATION, TRAINING
from operant.trainer.envs.vector import Transitions
from operant.trainer.envs.workers.hosted import HostedSpec
from operant.trainer.networks.policy import first_state
from operant.trainer.trained_policy import load_trained

ROUND_S = 2.0
METTAGRID_ENVS = 64
TICKS = 1000
SHARED = set(ArenaSection.model_fields)  # of both tables

Choose = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--envs", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--json", help="also write everything to this file")
    arguments = parser.parse_args()
    about = {**machine(), **versions("mettagrid", "numba", "numpy", "torch"), "busy": busy()}
    if arguments.runs:
        found = {run: scores(run, arguments.episodes) for run in arguments.runs}
    else:
        found = raw(arguments.envs, arguments.rounds)
    write_json(arguments.json, {"machine": about, "found": found})


def raw(num_envs: int, rounds: int) -> dict[str, Any]:
    """Agent-steps per second of each side, in turn."""
    own, real = make_spec(), HostedSpec(source_of(MettaGridConfig()))
    cores: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    sides = {
        f"operant, {num_envs:,} worlds, {threads} threads": (stepping(own, num_envs), threads)
        for threads in sorted({1, cores})
    }
    sides[f"mettagrid, {METTAGRID_ENVS} worlds"] = stepping(real, METTAGRID_ENVS), 1
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (step, threads) in sides.items():
            numba.set_num_threads(threads)
            speeds[name].append(step())
    for name, values in speeds.items():
        told = summary(values)
        print(f"{name:40} {told['median']:12,.0f}/s  ({told['min']:,.0f} to {told['max']:,.0f})")
    return dict(speeds)


def stepping(spec: Any, num_envs: int) -> Callable[[], float]:
    """What steps for a while, and says how many agent-steps a second it took."""
    envs: Any = make_envs(spec, num_envs, 1, TRAINING)
    out = Transitions.of(spec, envs.num_rows)
    actions = np.random.default_rng(1).integers(0, spec.actions.n, (64, envs.num_rows))
    envs.reset(out.obs)
    envs.step(actions[0], out)

    def step() -> float:
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < ROUND_S:
            for row in actions:
                envs.step(row, out)
            count += len(actions)
        return count * envs.num_rows / (time.perf_counter() - start)

    return step


def scores(name: str, num_episodes: int) -> dict[str, dict[str, float]]:
    """Hearts of a run's policy, in both worlds."""
    trained = load_trained(find_run(name))
    table = trained.config.env_section.model_dump()
    table = {key: value for key, value in table.items() if key in SHARED}
    # Nothing but hearts is counted, so that returns are hearts.
    table |= {"ore_reward": 0.0, "battery_reward": 0.0, "max_steps": TICKS}
    table |= {"ore_reward_cap": 1.0, "battery_reward_cap": 1.0}
    worlds: dict[str, Any] = {
        "mettagrid": HostedSpec(source_of(MettaGridConfig(**table))),
        "grid": make_spec(GridConfig(**table)),
    }
    policy: Any = trained.policy
    generator = torch.Generator().manual_seed(1)

    def drawn(obs: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        actions, _, state = policy.act_step(obs, policy.noise((len(obs),), generator), state)
        return policy.env_actions(actions), state

    def at_random(obs: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randint(0, 5, (len(obs),), generator=generator), state

    ways: dict[str, Choose] = {"greedy": trained.step, "drawn": drawn, "random": at_random}
    found = {}
    for world, spec in worlds.items():
        found[world] = {way: hearts(spec, choose, policy, num_episodes)
                        for way, choose in ways.items()}  # fmt: skip
        told = ", ".join(f"{way} {value:.3f}" for way, value in found[world].items())
        print(f"{name} in {world}: hearts per agent and {TICKS:,} ticks: {told}")
    return found


@torch.inference_mode()
def hearts(spec: Any, choose: Choose, policy: Any, num_episodes: int) -> float:
    """Mean over agents of so many whole episodes."""
    with closing(make_envs(spec, num_episodes, 1, EVALUATION)) as envs:
        out = Transitions.of(spec, envs.num_rows)
        envs.reset(out.obs)
        state, total = first_state(policy, envs.num_rows), 0.0
        for _ in range(TICKS):
            actions, state = choose(torch.from_numpy(out.obs), state)
            envs.step(actions.numpy(), out)
            total += float(out.reward.sum())
        assert out.truncated.all()
        return total / envs.num_rows


if __name__ == "__main__":
    main()
