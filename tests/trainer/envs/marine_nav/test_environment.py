"""MarineNav in a vector environment: robots retire alone, all begin anew together, and nothing
depends on the order of anything.
"""

from __future__ import annotations

import numpy as np
import pytest
from marine_worlds import OneWorld, compiled_for, recorded_scenario, recording

from operant.shared.errors import ConfigError
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.marine_nav.compiled_world import OBS_SCALE, World
from operant.trainer.envs.marine_nav.layout import (
    CLOCK,
    GROUND_VX,
    GROUND_VY,
    MASK,
    NUM_ROBOTS,
    OBS_SIZE,
    SELF_SIZE,
)
from operant.trainer.envs.marine_nav.scenario import Scenario, load_scenario
from operant.trainer.envs.marine_nav.section import MarineNavConfig, Stage
from operant.trainer.envs.marine_nav.world import make_spec
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.jit.streams import EVALUATION

pytestmark = pytest.mark.slow

ROOM = World(5, 4, 6, "continuous", "injected", precision="float64")
ROBOTS = 5
NOTHING = np.zeros((0, 3)), np.zeros((0, 4))  # no obstacles, no vortices


class Stepped:
    """Seas with memory for their transitions. One alone would be compiled anew: its memory is laid
    out in another way.
    """

    def __init__(self, num_envs, seed=1, spec=None, **options):
        self.spec = spec or load_spec("marine_nav")
        self.envs = VectorEnv(self.spec, num_envs, seed, **options)
        self.out = Transitions.empty(OBS_SIZE, self.envs.num_rows)
        self.envs.reset(self.out.obs)

    def step(self, actions):
        """The transitions, with observations in SI units."""
        self.envs.step(actions, self.out)
        out = Transitions(*map(np.copy, self.out))
        return out._replace(obs=out.obs / OBS_SCALE, final_obs=out.final_obs / OBS_SCALE)

    def still(self):
        return self.step(np.zeros((self.envs.num_rows, 2), np.float32))


def near_goals(*distances):
    """Robots far from each other, each so far from its goal."""
    starts = np.array([[10.0, 10.0 * i] for i in range(1, len(distances) + 1)])
    goals = starts + np.column_stack([distances, np.zeros(len(distances))])
    return Scenario(starts, goals, np.zeros(len(distances)), *NOTHING)


def test_a_robot_that_arrives_retires_and_the_others_go_on():
    sea = Stepped(2)
    load_scenario(sea.envs, 0, near_goals(1.5, 30.0, 30.0), sea.out.obs)
    first, second = sea.still(), sea.still()
    # -0.1 for the decision, no progress, 10 for the goal; robots 3 and 4 are not there.
    assert first.reward[:ROBOTS].tolist() == pytest.approx([9.9, -0.1, -0.1, 0, 0], abs=1e-5)
    assert first.terminated[:ROBOTS].tolist() == [True, False, False, False, False]
    assert first.valid[:ROBOTS].tolist() == [True, True, True, False, False]
    assert second.valid[:ROBOTS].tolist() == [False, True, True, False, False]
    # In its last observation it is 1.5 m from its goal; then it sees nothing and is not seen.
    assert first.final_obs[0, :2].tolist() == pytest.approx([1.5, 0.0], abs=1e-5)
    assert first.obs[0, 0] == pytest.approx(1.5)
    assert not second.obs[[0, 3, 4]].any()
    assert first.obs[1, MASK:].tolist() == [1, 1, 0, 0, 0]  # 10 m to each of its neighbours
    assert second.obs[1, MASK:].tolist() == [1, 0, 0, 0, 0]


def test_robots_that_touch_have_both_collided_even_where_one_arrives():
    sea = Stepped(2)
    # 5.5 m apart is less than two hulls of 2.795 m; the third is alone.
    starts = np.array([[10.0, 10.0], [15.5, 10.0], [40.0, 40.0]])
    goals = np.array([[10.0, 11.0], [50.0, 50.0], [10.0, 40.0]])
    load_scenario(sea.envs, 0, Scenario(starts, goals, np.zeros(3), *NOTHING), sea.out.obs)
    out = sea.still()
    assert out.reward[:ROBOTS].tolist() == pytest.approx([-5.1, -5.1, -0.1, 0, 0], abs=1e-5)
    assert out.terminated[:ROBOTS].tolist() == [True, True, False, False, False]


def test_when_all_have_retired_the_next_scenario_begins_in_the_same_step():
    sea = Stepped(2)
    load_scenario(sea.envs, 0, near_goals(1.5, 1.5), sea.out.obs)
    out = sea.still()
    assert out.terminated[:ROBOTS].tolist() == [True, True, False, False, False]
    assert sea.envs.state.episode.tolist() == [2, 0]  # the loaded one was the first sea's second
    assert sea.envs.state.fields[NUM_ROBOTS, 0] == ROBOTS
    assert (np.linalg.norm(out.obs[:ROBOTS, :2], axis=1) >= 40).all()
    assert out.final_obs[:2, 0] == pytest.approx(1.5)
    assert sea.envs.take_episode_totals() == (2, pytest.approx(2 * 9.9), 2)
    assert sea.still().valid.all()


def test_a_first_observation_has_the_current():
    # 2 m from a core of 3 m/s and half a metre: 3 x 0.5 / 2 = 0.75 m/s.
    vortices = np.array([[10.0, 10.0, 1.0, 3 * np.pi]])
    world = OneWorld(ROOM)
    world.start(
        Scenario(
            np.array([[12.0, 10.0]]), np.array([[50.0, 50.0]]), np.zeros(1), NOTHING[0], vortices
        )
    )
    assert world.robots(GROUND_VX, GROUND_VY)[0] == pytest.approx([0.0, -0.75])


def test_the_order_of_robots_changes_nothing():
    order = [4, 2, 0, 1, 3]
    recorded = recording("env3_home_noise_31")
    scenario = recorded_scenario(recorded)
    kept, moved = OneWorld(ROOM), OneWorld(ROOM)
    permuted = scenario._replace(
        starts=scenario.starts[order], goals=scenario.goals[order],
        headings=scenario.headings[order], obstacles=scenario.obstacles[::-1],
    )  # fmt: skip
    slots = [3, 2, 1, 0, *(4 + np.array(order))]  # of what each observer sees

    def noise(t):
        return recorded["noise"][t], recorded["noise"][t][order][:, slots]

    kept.start(scenario, recorded["noise0"])
    moved.start(permuted, recorded["noise0"][order][:, slots])
    for t, actions in enumerate(recorded["action"]):
        first, second = noise(t)
        kept.step(actions, first)
        moved.step(actions[order], second)
        assert (moved.valid == kept.valid[order]).all()
        rows = np.flatnonzero(moved.valid)
        for name in ("reward", "terminated", "obs"):
            there, here = getattr(moved, name), getattr(kept, name)[order]
            assert (there[rows] == here[rows]).all(), name
    assert kept.terminated.any()


CURRICULUM = MarineNavConfig(
    curriculum=(
        Stage(until_env_steps=40, num_robots=2, num_obstacles=0, min_goal_distance_m=20.0),
        Stage(until_env_steps=60, num_robots=3, num_obstacles=1, min_goal_distance_m=30.0),
    )
)


def test_a_scenario_that_is_loaded_again_is_seen_with_other_errors():
    sea = Stepped(2)
    starts = np.array([[10.0, 10.0], [18.0, 10.0]])
    scenario = Scenario(starts, starts + np.array([30.0, 0.0]), np.zeros(2), *NOTHING)
    seen = []
    for _ in range(2):
        load_scenario(sea.envs, 0, scenario, sea.out.obs)
        seen.append(sea.out.obs[0, SELF_SIZE : SELF_SIZE + 2] * 20)
    assert np.abs(seen[0] - [8.0, 0.0]).max() < 0.5
    assert (seen[0] != seen[1]).all()


def test_a_curriculum_goes_by_env_steps_and_changes_no_shapes():
    # Two seas of five robots: ten env steps a decision. Four decisions, then two, then the world.
    sea = Stepped(2, spec=make_spec(CURRICULUM))
    shape = sea.out.obs.shape
    counts = []
    for _ in range(8):
        sea.envs.state.elapsed[:] = 999  # each decision is the last of its episode
        counts.append(sea.still().valid.sum() // 2)
        assert sea.out.obs.shape == shape
    # The episodes that were begun before decision 1, and in decisions 1 to 7.
    assert counts == [2, 2, 2, 2, 3, 3, 5, 5]
    assert sea.envs.state.fields[CLOCK].tolist() == [8, 8]


def test_an_evaluation_is_of_the_world_after_the_curriculum():
    sea = Stepped(2, spec=make_spec(CURRICULUM), stream=EVALUATION)
    assert sea.envs.state.fields[NUM_ROBOTS].tolist() == [5, 5]


def test_an_event_says_how_many_objects_there_was_no_room_for():
    section = MarineNavConfig(min_goal_distance_m=55.0)
    sea = Stepped(64, spec=make_spec(section))
    fields = sea.envs.state.fields
    missing = int(64 * ROBOTS - fields[NUM_ROBOTS].sum())
    short = int((fields[NUM_ROBOTS] < ROBOTS).sum())
    (notice,) = sea.envs.take_notices()
    assert short > 0
    assert notice.startswith(f"marine_nav: {short} episodes began with fewer objects")
    assert f"{missing} robots, 0 obstacles" in notice
    assert sea.envs.take_notices() == []
    assert Stepped(8).envs.take_notices() == []


def test_float64_nowhere_slows_a_float32_sea():
    """A bare number in a function would make all that it touches float64."""
    step = compiled_for(make_spec().step, World())
    state = np.zeros((World().first_rows["state_size"], 1), np.float32)
    random = np.int64(0), np.int64(0), np.uint64(0), np.uint64(0)
    flags = np.zeros(ROBOTS, np.bool_), np.zeros(ROBOTS, np.bool_)
    rows = np.zeros((ROBOTS, 2), np.float32), np.zeros(ROBOTS, np.float32)
    step(state, 0, random, *rows, *flags)
    (code,) = step._from_python.inspect_llvm().values()
    assert "float" in code
    assert "double" not in code


def test_a_scenario_with_more_robots_than_the_sea_has_room_for_is_refused():
    sea = Stepped(2)
    with pytest.raises(
        ConfigError, match="a scenario has 6 robots, and the run's world has room for 5"
    ):
        load_scenario(sea.envs, 0, near_goals(*[30.0] * 6), sea.out.obs)
