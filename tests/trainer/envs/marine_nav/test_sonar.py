"""MarineNav of one vessel with a sonar is its authors' simulator, number by number."""

from __future__ import annotations

import math

import numpy as np
import pytest
from learning import iterate
from marine_worlds import RECORDINGS, recorded_scenario, recording

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.marine_nav.kinematic import SPEED
from operant.trainer.envs.marine_nav.layout import (
    GROUND_VX,
    GROUND_VY,
    HEADING,
    NUM_OBSTACLES,
    NUM_ROBOTS,
    NUM_VORTICES,
    X,
    Y,
)
from operant.trainer.envs.marine_nav.making import make_spec
from operant.trainer.envs.marine_nav.scenario import Scenario, put_scenario
from operant.trainer.envs.marine_nav.section import MarineNavConfig, Stage
from operant.trainer.envs.marine_nav.world import World, functions_of
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.jit.compiling import compiled
from operant.trainer.machine.threads import Threads

NAMES = sorted(path.stem for path in RECORDINGS.glob("env1_*.npz"))
STATE = (X, Y, HEADING, SPEED, GROUND_VX, GROUND_VY)  # as the recordings have it
RANDOM = np.int64(0), np.int64(0), np.uint64(1), np.uint64(0)


class OneVessel:
    """A sea with one vessel, in the precision of its world."""

    def __init__(self, world, scenario):
        self.first = world.first_rows["first_robot"]
        self.state = np.zeros((world.first_rows["state_size"], 1), world.precision)
        self.obs = np.zeros((1, 26), world.precision)
        functions = [compiled(function) for function in functions_of(world)]
        _, start, self._step, self._observe = functions
        put_scenario(self.state, 0, scenario, world)
        start(self.state, 0, RANDOM)
        self._observe(self.state, 0, self.obs)

    def step(self, action):
        reward, terminated = self._step(self.state, 0, action)
        self._observe(self.state, 0, self.obs)
        return reward, terminated

    @property
    def motion(self):
        return self.state[self.first + np.array(STATE), 0]

    @property
    def hits(self):
        """Where the eleven beams hit, [11, 2]."""
        return self.obs[0, 4:].reshape(11, 2)


def begun(name, precision):
    recorded = {key: recording(name)[key] for key in recording(name).files}
    for key in ("start", "goal", "theta0", "speed0"):
        recorded[key] = recorded[key][None]
    scenario = recorded_scenario(recorded)._replace(speeds=recorded["speed0"])
    world = World(
        1, 8, 6, vessels="sonar", compatibility=True, precision=precision,
        substeps=int(recorded["N"]), boundary=bool(recorded["boundary"]),
    )  # fmt: skip
    return recorded, OneVessel(world, scenario)


def close(found, expected, atol, key=""):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=key)


def test_all_recordings_are_here():
    assert len(NAMES) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_float64_all_numbers_are_the_recordings_and_all_flags(name):
    recorded, vessel = begun(name, "float64")
    close(vessel.motion, recorded["state0"], 1e-9)
    close(vessel.obs[0], recorded["obs0"], 1e-8)
    for t, action in enumerate(recorded["action"]):
        reward, terminated = vessel.step(action)
        close(vessel.motion, recorded["state"][t], 1e-9, "state")
        close(reward, recorded["reward"][t], 1e-9, "reward")
        close(vessel.obs[0], recorded["obs"][t], 1e-8, "obs")
        assert terminated == recorded["done"][t]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_in_float32_the_vessel_stays_within_a_millimetre_of_the_recordings(name):
    recorded, vessel = begun(name, "float32")
    for t, action in enumerate(recorded["action"]):
        _, terminated = vessel.step(action)
        close(vessel.motion[:2], recorded["state"][t, :2], 1e-3)
        assert terminated == recorded["done"][t]


def alone(*obstacles, start=(20.0, 20.0), compatibility=False, boundary=False):
    """A vessel at rest that heads along x, with its goal far ahead."""
    world = World(1, 3, 0, vessels="sonar", precision="float64", compatibility=compatibility,
                  boundary=boundary)  # fmt: skip
    starts, nothing = np.array([start]), np.zeros((0, 4))
    obstacles = np.array(obstacles, np.float64).reshape(-1, 3)
    return OneVessel(world, Scenario(starts, starts + 25.0, np.zeros(1), obstacles, nothing))


def test_a_beam_tells_where_it_hits_first():
    # One obstacle of radius 1 straight ahead, hit at 5 m; 8 m and 9 m to the right, off all beams
    # but the last, 60 degrees to starboard: (cos 60, sin 60) times 7 m.
    vessel = alone((26, 20, 1), (20 + 8 * math.cos(math.pi / 3), 20 + 8 * math.sin(math.pi / 3), 1))
    close(vessel.hits[5], [5, 0], 1e-12)
    close(vessel.hits[10], [3.5, 7 * math.sin(math.pi / 3)], 1e-12)
    assert not vessel.hits[[0, 1, 2, 3, 7, 8]].any()
    # Nothing behind, nothing beyond 10 m.
    assert not alone((14, 20, 1), (31.1, 20, 1)).hits.any()


def test_the_nearest_hit_counts_unless_it_is_the_authors():
    far, farther, near = (27, 20, 1), (29, 20, 1), (24, 20, 1)
    close(alone(far, farther, near).hits[5], [3, 0], 1e-12)
    # Theirs looks no further once one is not nearer than the best so far.
    close(alone(far, farther, near, compatibility=True).hits[5], [6, 0], 1e-12)


def test_any_obstacle_ends_the_task_unless_it_is_the_authors():
    # The large one is touched, 3.7 m from its middle; the small one's middle is nearer.
    large, small = (23.7, 20, 3), (20, 23, 1)
    reward, terminated = alone(large, small).step(4)
    assert terminated
    assert reward < -50
    assert not alone(large, small, compatibility=True).step(4)[1]


@pytest.mark.slow
def test_leaving_the_map_ends_the_task_where_it_has_a_boundary():
    full_ahead = 7  # faster, straight on
    for boundary, expected in ((True, True), (False, False)):
        vessel = alone(start=(49.9, 20), boundary=boundary)
        rewards, ends = zip(*(vessel.step(full_ahead) for _ in range(2)), strict=True)
        assert ends == (expected, expected)
        assert min(rewards) > -3  # and nothing besides the way


@pytest.mark.slow
def test_every_episode_is_a_scenario_of_the_world_and_its_curriculum():
    section = MarineNavConfig(
        vessels="sonar", num_robots=1, num_obstacles=3, num_vortices=2, min_goal_distance_m=30,
        curriculum=(
            Stage(until_env_steps=20, num_robots=1, num_obstacles=1, min_goal_distance_m=25),
        ),
    )  # fmt: skip
    spec = make_spec(section)
    envs = VectorEnv(spec, 5, seed=1)
    out = Transitions.empty(spec.obs_size, 5)
    envs.reset(out.obs)
    goals = [np.hypot(*out.obs[:, 2:4].T)]
    actions = np.full(5, 4)
    counts = []
    for _ in range(8):
        counts.append(envs.state.fields[[NUM_ROBOTS, NUM_OBSTACLES, NUM_VORTICES]].T.tolist())
        envs.state.elapsed[:] = 999  # each decision is the last of its episode
        envs.step(actions, out)
        goals.append(np.hypot(*out.obs[:, 2:4].T))
    # Five seas, five env steps a decision: four decisions, then the world.
    assert counts == [[[1, 1, 0]] * 5] * 4 + [[[1, 3, 2]] * 5] * 4
    assert np.min(goals) >= 25
    assert np.min(goals[5:]) >= 30
    assert len(np.unique(goals)) == 45  # nine episodes of five seas, none twice
    assert envs.take_episode_totals()[0] == 8 * 5
    assert not envs.take_notices()


VALUES = {
    "env": "marine_nav", "algorithm": "iqn", "num_envs": 16, "rollout_steps": 8, "num_threads": 1,
    "total_env_steps": 128 * 8, "policy": {"hidden_sizes": [64, 64], "activation": "relu"},
    "marine_nav": {"vessels": "sonar", "num_robots": 1, "num_obstacles": 6, "num_vortices": 4},
    "replay": {"capacity": 4_000},
    "iqn": {"warmup_env_steps": 100, "batch_size": 32, "updates_per_env_step": 0.125},
}  # fmt: skip


@pytest.mark.slow
def test_agents_learn_with_their_authors_encoder():
    threads = Threads(1)
    experiment = processor_experiment(make_config(VALUES), threads)
    before = experiment.policy.flat_parameters.clone()
    iterate(experiment, 3)
    assert (experiment.policy.flat_parameters != before).any()
    encoder = (2 + 1) * 16 * 2 + (22 + 1) * 176
    layers = (208 + 1) * 64 + (64 + 1) * 64 + (64 + 1) * 9
    assert len(before) == encoder + (64 + 1) * 208 + layers
    threads.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_robots": 5}, "marine_nav.num_robots = 5: one with a sonar is alone; use 1"),
        ({"vessels": "kinematic"}, "marine_nav.num_robots = 1: a vessel alone has a sonar"),
        ({"vessels": "kinematic", "num_robots": 2, "substeps": 5}, "marine_nav.substeps = 5"),
        (
            {"vessels": "thrusters", "num_robots": 2, "boundary": True, "actions": "discrete"},
            "marine_nav.boundary = True",
        ),
    ],
)
def test_what_does_not_go_together_is_one_line(change, message):
    with pytest.raises(ConfigError, match=message):
        make_config({**VALUES, "marine_nav": {**VALUES["marine_nav"], **change}})
