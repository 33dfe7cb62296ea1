"""MarineNav of kinematic vessels is its authors' simulator, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from learning import iterate
from marine_worlds import RECORDINGS, OneWorld, recorded_scenario, recording

from operant.trainer.config.from_values import make_config
from operant.trainer.envs.marine_nav.kinematic import SPEED
from operant.trainer.envs.marine_nav.layout import (
    ENERGY,
    GROUND_VX,
    GROUND_VY,
    HAS_ARRIVED,
    HAS_COLLIDED,
    HEADING,
    X,
    Y,
)
from operant.trainer.envs.marine_nav.making import make_spec
from operant.trainer.envs.marine_nav.section import MarineNavConfig
from operant.trainer.envs.marine_nav.world import World, bindings_of
from operant.trainer.envs.vector import Transitions, VectorEnv
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads
from operant.trainer.spaces import Discrete

pytestmark = pytest.mark.slow

NAMES = sorted(path.stem for path in RECORDINGS.glob("env2_*.npz"))
STATE = (X, Y, HEADING, SPEED, GROUND_VX, GROUND_VY)  # as the recordings have it
CONFIG = MarineNavConfig(vessels="kinematic", num_vortices=4, num_obstacles=4)


def close(found, expected, atol, key=""):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=key)


def begun(name, precision):
    recorded = recording(name)
    world = OneWorld(
        World(5, 6, 6, vessels="kinematic", compatibility=True, precision=precision),
        obs_size=39,
    )
    world.start(recorded_scenario(recorded)._replace(speeds=recorded["speed0"]))
    return {key: recorded[key] for key in recorded.files}, world


def test_both_recordings_are_here():
    assert len(NAMES) == 2


@pytest.mark.parametrize("name", NAMES)
def test_in_float64_all_numbers_are_the_recordings_and_all_flags(name):
    steps, world = begun(name, "float64")
    close(world.robots(*STATE), steps["state0"], 1e-9)
    close(world.obs, steps["obs0"], 1e-9)
    energy = np.zeros(5)
    for t, actions in enumerate(steps["action"]):
        world.step(actions)
        active = np.flatnonzero(steps["active_before"][t])
        assert np.flatnonzero(world.valid).tolist() == active.tolist()
        close(world.robots(*STATE)[active], steps["state"][t][active], 1e-9, "state")
        close(world.reward[active], steps["reward"][t][active], 1e-9, "reward")
        close(world.obs[active], steps["obs"][t][active], 1e-9, "obs")
        assert (world.terminated[active] == steps["done"][t][active]).all()
        assert (world.robots(HAS_COLLIDED)[:, 0] == steps["collision"][t]).all()
        assert (world.robots(HAS_ARRIVED)[:, 0] == steps["reach_goal"][t]).all()
        energy[active] += steps["energy"][t][active]
        close(world.robots(ENERGY)[:, 0], energy, 1e-9, "energy")


@pytest.mark.parametrize("name", NAMES)
def test_in_float32_vessels_stay_within_a_millimetre_of_the_recordings(name):
    steps, world = begun(name, "float32")
    for t, actions in enumerate(steps["action"]):
        world.step(actions)
        active = np.flatnonzero(steps["active_before"][t])
        assert np.flatnonzero(world.valid).tolist() == active.tolist()
        close(world.robots(X, Y)[active], steps["state"][t][active, :2], 1e-3)


def test_scenarios_are_of_the_smaller_map_with_other_gaps_currents_and_speeds():
    spec = make_spec(CONFIG)
    envs = VectorEnv(spec, 64, seed=1)
    out = Transitions.empty(spec.obs_size, envs.num_rows)
    envs.reset(out.obs)
    assert spec.actions == Discrete(9)
    first, fields = spec.world.first_rows, envs.state.fields
    size = (first["first_obstacle"] - first["first_robot"]) // 5
    rows = [fields[first["first_robot"] + i * size :][:size] for i in range(5)]
    starts = np.stack([row[[X, Y]] for row in rows])  # [robots, 2, seas]
    assert starts.min() >= 2
    assert 45 < starts.max() <= 48
    gaps = [np.hypot(*(starts[i] - starts[j])).min() for i in range(5) for j in range(i)]
    assert 5 < min(gaps) < 10
    speeds = np.stack([row[SPEED] for row in rows])
    # Uniform on [0, 2]: a mean of 1 within four deviations of 320, 0.577 / sqrt(320)
    assert float(speeds.mean()) == pytest.approx(1.0, abs=4 * 0.577 / 320**0.5)
    vortices = fields[first["first_vortex"] : first["first_stage"]].reshape(4, 4, -1)
    edge = vortices[:, 3] / (2 * np.pi * 0.5)  # circulation as a speed at the core's edge
    assert 5 <= edge.min() < 5.5
    assert 9.5 < edge.max() <= 10
    scale = bindings_of(World(vessels="kinematic", scaled_obs=True))["obs_scale"]
    assert np.abs(out.obs * scale).max() < 6


@pytest.mark.parametrize("algorithm", ["iqn", "ppo"])
def test_agents_learn_with_their_authors_encoder(algorithm):
    threads = Threads(1)
    values = {
        "env": "marine_nav", "algorithm": algorithm, "num_envs": 4, "rollout_steps": 8,
        "num_threads": 1, "total_env_steps": 160 * 8, "marine_nav": CONFIG.model_dump(),
        "policy": {"hidden_sizes": [156, 156], "activation": "relu"},
    }  # fmt: skip
    if algorithm == "iqn":
        values |= {"replay": {"capacity": 4_000}, "iqn": {"warmup_env_steps": 100,
                   "batch_size": 32, "updates_per_env_step": 0.1}}  # fmt: skip
    experiment = processor_experiment(make_config(values), threads)
    before = experiment.policy.flat_parameters.clone()
    iterate(experiment, 3)
    assert (experiment.policy.flat_parameters != before).any()
    if algorithm == "iqn":
        # Encoder, cosines, and 312 -> 156 -> 156 -> 9.
        encoder = (4 + 1) * 32 + (15 + 1) * 120 + (20 + 1) * 160
        layers = (312 + 1) * 156 + (156 + 1) * 156 + (156 + 1) * 9
        assert len(before) == encoder + (64 + 1) * 312 + layers
    threads.close()
