"""Operant's grid world: its rules, who goes first, and the real MettaGrid beside it."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
import torch
from learning import iterate

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.grid.kinds import (
    AGENT,
    ALTAR,
    EMPTY,
    GENERATOR,
    MINE,
    OUTSIDE,
    REACH,
    WALL,
)
from operant.trainer.envs.grid.layout import AGENT_SIZE, CELL, KINDS, ORE
from operant.trainer.envs.grid.making import make_spec
from operant.trainer.envs.grid.section import GridConfig
from operant.trainer.envs.hosts import describe
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.experiment.build import device_experiment

pytestmark = pytest.mark.slow

STAY, NORTH, SOUTH, WEST, EAST = range(5)
# Of one shape, for all tests: what is compiled for is no reason to wait.
TABLE = {"num_agents": 2, "height": 6, "width": 9, "num_walls": 3, "num_mines": 2,
         "num_generators": 2, "num_altars": 2, "num_tokens": 40, "max_steps": 20}  # fmt: skip


def small_spec(**changes):
    return make_spec(GridConfig(**(TABLE | changes)))


class Stepped:
    """Some worlds with memory for what a step gives."""

    def __init__(self, spec, num_envs=1, seed=1, **options):
        self.spec, self.envs = spec, VectorEnv(spec, num_envs, seed, **options)
        self.out = Transitions.of(spec, self.envs.num_rows)
        self.envs.reset(self.out.obs)

    def step(self, *actions):
        self.envs.step(np.resize(np.array(actions, np.int64), self.envs.num_rows), self.out)
        return Transitions(*map(np.copy, self.out))

    def agents(self, env=0):
        first = self.spec.world.first_rows["first_agent"]
        rows = self.envs.state.fields[first:, env][: self.spec.num_agents * AGENT_SIZE]
        return rows.reshape(-1, AGENT_SIZE)

    def places(self, env=0):
        """Rows and columns of the agents."""
        rows, columns = np.divmod(self.agents(env)[:, CELL].astype(int), self.spec.world.stride)
        return [(int(r) - REACH, int(c) - REACH) for r, c in zip(rows, columns, strict=True)]

    def kinds(self, env=0):
        world = self.spec.world
        first = world.first_rows
        cells = self.envs.state.fields[first["first_cell"] : first["first_map_cell"], env]
        return cells.reshape(-1, world.stride).astype(int) % KINDS


@pytest.fixture
def on_map(tmp_path):
    """Worlds on a map of text, which has the size of the others."""

    def made(*rows, **changes):
        (tmp_path / "map.txt").write_text("\n".join(rows) + "\n")
        table = {"map": str(tmp_path / "map.txt"), "num_agents": 2, "num_tokens": 40,
                 "max_steps": 20} | changes  # fmt: skip
        return Stepped(make_spec(GridConfig(**table)))

    return made


MEETING = ("#########", "#..@.@..#", "#.......#", "#..mga..#", "#.......#", "#########")


def test_of_two_who_want_a_cell_one_gets_it_and_either_may(on_map):
    seen = set()
    world = on_map(*MEETING)
    for _ in range(20):
        world.step(EAST, WEST)  # both want the cell between them
        seen.add(tuple(world.places()))
        assert len(set(world.places())) == 2
        while tuple(world.places()) != ((1, 3), (1, 5)):
            world.step(*[WEST if c == 4 and a == 0 else EAST if c == 4 else STAY
                         for a, (_, c) in enumerate(world.places())])  # fmt: skip
    assert seen == {((1, 4), (1, 5)), ((1, 3), (1, 4))}


def test_a_cell_that_is_left_is_free_in_the_next_tick(on_map):
    world = on_map("#########", "#.@@....#", "#.......#", "#..mga..#", "#.......#", "#########")
    world.step(EAST, EAST)
    assert world.places() == [(1, 2), (1, 4)]
    world.step(EAST, EAST)
    assert world.places() == [(1, 3), (1, 5)]


STATION = ("#########", "#..@m@..#", "#.......#", "#...ga..#", "#.......#", "#########")


def test_a_station_that_rests_serves_one_and_one_without_cooldown_all(on_map):
    world = on_map(*STATION, cooldown=3)
    ore = []
    for _ in range(6):
        world.step(EAST, WEST)
        ore.append(int(world.agents()[:, ORE].sum()))
    # used in ticks 1 and 4 by one of both
    assert ore == [1, 1, 1, 2, 2, 2]
    world = on_map(*STATION, cooldown=0)
    world.step(EAST, WEST)
    assert world.agents()[:, ORE].tolist() == [1, 1]


def test_rewards_are_what_is_held_up_to_its_caps(on_map):
    rows = ("#########", "#..@m...#", "#...ga..#", "#......@#", "#.......#", "#########")
    world = on_map(*rows, cooldown=0, ore_reward=0.5, ore_reward_cap=0.75, battery_reward=0.25)
    route = (EAST, EAST, EAST, SOUTH, EAST, EAST, NORTH)
    rewards = [float(world.step(action, STAY).reward[0]) for action in route]
    # ore 0.5, 0.75 of two, no more of three; battery 0.25 and as much ore as counts
    assert rewards == [0.5, 0.25, 0, 0, 0.25, -0.25 + 0.25, 0]
    assert world.agents()[0, ORE] == 1


def test_maps_have_all_that_is_asked_for_with_walls_around():
    world = Stepped(small_spec(), 50)
    for env in range(50):
        kinds = world.kinds(env)
        assert (np.delete(kinds, np.s_[REACH:-REACH], 0) == OUTSIDE).all()
        within = kinds[REACH:-REACH, REACH:-REACH]
        counts = [int((within[1:-1, 1:-1] == kind).sum()) for kind in range(AGENT + 1)]
        # EMPTY: 4 x 7 cells less 3 + 2 + 2 + 2 + 2
        assert dict(zip(range(AGENT + 1), counts, strict=True)) == {
            EMPTY: 17, WALL: 3, MINE: 2, GENERATOR: 2, ALTAR: 2, AGENT: 2,
        }  # fmt: skip
        assert (within[[0, -1]] == WALL).all()
        assert (within[:, [0, -1]] == WALL).all()


def test_a_pool_has_so_many_maps_for_all_and_without_one_each_episode_has_its_own():
    pooled, own = (Stepped(small_spec(num_maps=n), 60) for n in (3, 0))
    for world, most in ((pooled, 3), (own, 60)):
        found = {world.kinds(env).tobytes() for env in range(60)}
        assert len(found) == most


def test_a_full_map_is_laid_out():
    world = Stepped(small_spec(num_walls=28 - 8), 5)
    assert (world.kinds(0)[REACH:-REACH, REACH:-REACH] != EMPTY).all()


def played(spec, num_envs, seed=1, **options):
    random = np.random.default_rng(2)
    world = Stepped(spec, num_envs, seed, **options)
    actions = random.integers(0, 5, (25, 64))
    return [world.out.obs.copy(), *(world.step(*row[: world.envs.num_rows]) for row in actions)]


def test_an_episode_ends_for_all_and_the_next_begins_in_the_same_step():
    outs = played(small_spec(), 4)
    assert outs[20].truncated.all()
    assert not any(out.truncated.any() for out in outs[1:20])
    first = outs[20].obs.reshape(8, -1, 3)
    assert (first[:, 0] == [254, 1, 0]).all()
    assert (outs[20].final_obs.reshape(8, -1, 3)[:, 0] == [254, 1, 255]).all()


SMOKE = ("num_threads=1", "num_envs=2", "grid.num_agents=2", "grid.height=6", "grid.width=9",
         "grid.num_tokens=40", "grid.max_steps=20", "ppo.num_minibatches=2",
         "grid.num_walls=3", "grid.num_mines=2", "grid.num_generators=2",
         "grid.num_altars=2")  # fmt: skip


@pytest.mark.parametrize("kind", ["none", "lstm"])
def test_what_a_graphics_processor_would_run_plays_the_same_and_learns(kind):
    config = load_config("grid_ppo_smoke", [*SMOKE, f"policy.memory.kind={kind}"])
    with closing(device_experiment(config, torch.device("cpu"))) as made:
        before = made.algorithm.policy.flat_parameters.clone()
        values = iterate(made)
        rollout = made.collector.rollout
        # Its kernels, which run as loops here, play what the processor plays.
        envs = VectorEnv(describe(config), config.num_envs, config.seed)
        out = Transitions.of(envs.spec, envs.num_rows)
        envs.reset(out.obs)
        assert (out.obs == rollout.obs[0].numpy()).all()
        for t, actions in enumerate(rollout.actions.numpy()):
            envs.step(actions, out)
            assert (out.obs == rollout.obs[t + 1].numpy()).all()
            assert (out.reward == rollout.rewards[t].numpy()).all()
        # 32 steps: the 20th ends an episode, whose last observation is kept
        assert rollout.truncated.sum() == 4
        assert rollout.final_obs.shape[0] == 2
        ended = rollout.final_obs[0].view(4, -1, 3)[:, 0]
        assert ended.tolist() == [[254, 1, 255]] * 4
        assert np.isfinite(values["loss/value"])
        assert (made.algorithm.policy.flat_parameters != before).any()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["grid.num_maps=3", "grid.map={map}"], "grid.num_maps = 3: all episodes are in grid.map"),
        (["grid.num_agents=64", "grid.height=8", "grid.width=8"], "leave 0 free"),
        (["normalization.obs=true"], "normalization.obs = true: grid has token"),
        (["grid.map=nowhere.txt"], "grid.map = nowhere.txt: No such file"),
    ],
)
def test_what_makes_no_world_is_refused_in_one_line(tmp_path, overrides, words):
    (tmp_path / "map.txt").write_text("#####\n#m@g#\n#@a@#\n#@..#\n#####\n")
    told = [override.format(map=tmp_path / "map.txt") for override in overrides]
    with pytest.raises(ConfigError, match=words) as caught:
        make_config({}, ["env=grid", *told])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("seed", "num_agents"), [(1, 3), (3, 3)])
def test_it_is_mettagrid_tick_by_tick(tmp_path, seed, num_agents):
    """Positions, inventories, rewards and tokens; all of it is `make grid-oracle`."""
    pytest.importorskip("mettagrid", reason="the real one is not installed")
    from grid_oracle import play

    assert play(seed, tmp_path / "map.txt", 120, num_agents) > 0
