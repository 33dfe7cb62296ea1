"""MarineNav is the authors' simulator: every recording of theirs, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from marine_worlds import RECORDINGS, OneWorld, compiled_for, recorded_scenario, recording

from operant.trainer.envs.marine_nav.compiled_world import World
from operant.trainer.envs.marine_nav.environment import evasion_angle
from operant.trainer.envs.marine_nav.layout import (
    ENERGY,
    EVASION_RAD,
    HAS_ARRIVED,
    HAS_COLLIDED,
    MASK,
    RIGHT_N,
    X,
    Y,
)
from operant.trainer.envs.marine_nav.scenario import Scenario, put_scenario
from operant.trainer.envs.marine_nav.vessel import current_at

pytestmark = pytest.mark.slow

NAMES = sorted(path.stem for path in RECORDINGS.glob("env3_*.npz"))
STATE = range(X, RIGHT_N + 1)  # as the recordings have it
THRUST_RATES = np.array([0.0, -0.5, -1.0, 0.5, 1.0])  # of discrete actions, in kN/s


def world_for(actions, precision):
    """Room for all that any recording has: fewer robots and objects are fewer that exist."""
    is_discrete = actions.ndim == 2 and precision == "float64"
    kind = "discrete" if is_discrete else "continuous"
    return World(5, 4, 6, kind, "injected", precision=precision)


def played(name, precision):
    """The recording, its world after the first observation, and the noise of each step."""
    recorded = recording(name)
    noise, noise0 = recorded["noise"], recorded["noise0"]
    if not noise[np.isfinite(noise)].any():
        noise, noise0 = [None] * len(noise), None
    world = OneWorld(world_for(recorded["action"], precision))
    world.start(recorded_scenario(recorded), noise0)
    return recorded, world, noise


def close(found, expected, atol=1e-9, key=""):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=key)


def observations(self, objects, mask):
    return np.nan_to_num(np.column_stack([self, objects.reshape(len(self), -1), mask]))


@pytest.mark.parametrize("name", NAMES)
def test_in_float64_all_numbers_are_the_recordings_and_all_flags(name):
    recorded, world, noise = played(name, "float64")
    robots = slice(len(recorded["start"]))
    first = observations(recorded["obs0_self"], recorded["obs0_obj"], recorded["obs0_mask"])
    close(world.robots(*STATE)[robots], recorded["state0"])
    close(world.obs[robots], first)
    energy = np.zeros(len(recorded["start"]))
    steps = {key: recorded[key] for key in recorded.files}
    for t, actions in enumerate(steps["action"]):
        world.step(actions, noise[t])
        active = np.flatnonzero(steps["active_before"][t])
        assert np.flatnonzero(world.valid).tolist() == active.tolist()
        evasion = world.robots(EVASION_RAD)[active, 0]
        close(world.robots(*STATE)[active], steps["state"][t][active], key="state")
        close(world.reward[active], steps["reward"][t][active], key="reward")
        close(evasion, steps["phi"][t][active], key="phi")
        assert ((evasion > 0) == steps["colregs"][t][active]).all()
        assert (world.terminated[active] == steps["done"][t][active]).all()
        assert (world.robots(HAS_COLLIDED)[robots, 0] == steps["collision"][t]).all()
        assert (world.robots(HAS_ARRIVED)[robots, 0] == steps["reach_goal"][t]).all()
        energy[active] += steps["energy"][t][active]
        close(world.robots(ENERGY)[robots, 0], energy, key="energy")
        seen = observations(*(steps[f"obs_{part}"][t] for part in ("self", "obj", "mask")))
        assert (world.obs[active, MASK:] == seen[active, MASK:]).all()
        close(world.obs[active], seen[active], key="obs")
        assert not world.obs[np.flatnonzero(~world.valid)].any()


@pytest.mark.parametrize("name", NAMES)
def test_in_float32_vessels_stay_within_a_millimetre_of_the_recordings(name):
    recorded, world, noise = played(name, "float32")
    all_actions = recorded["action"]
    if all_actions.ndim == 2:
        all_actions = THRUST_RATES[np.stack([all_actions // 5, all_actions % 5], -1)]
    for t, actions in enumerate(all_actions):
        world.step(actions.astype(np.float32), noise[t])
        active = np.flatnonzero(recorded["active_before"][t])
        assert np.flatnonzero(world.valid).tolist() == active.tolist()
        close(world.robots(X, Y)[active], recorded["state"][t][active, :2], atol=1e-3)


def test_the_current_is_the_recorded_one():
    recorded = recording("flow")
    world = World(5, 4, len(recorded["core_xy"]), precision="float64")
    state = np.zeros((world.first_rows["state_size"], 1))
    vortices = np.column_stack([recorded[f"core_{part}"] for part in ("xy", "cw", "gamma")])
    nothing = np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0), np.zeros((0, 3))
    put_scenario(state, 0, Scenario(*nothing, vortices), world)
    current = compiled_for(current_at, world)
    found = [current(state, 0, x, y) for x, y in recorded["pts"]]
    assert len(found) == 408
    close(found, recorded["v"], atol=1e-12)


def test_the_rules_of_the_road_ask_for_what_they_ask_in_20000_recorded_cases():
    recorded = recording("colregs")
    angle = compiled_for(evasion_angle, World(precision="float64"))
    cases = np.column_stack([recorded["obj"], recorded["ego_v"]])
    found = np.array([angle(*case) for case in cases])
    assert ((found > 0) == recorded["applies"]).all()
    assert (found > 0).sum() == 1002
    close(found[recorded["applies"]], recorded["phi"][recorded["applies"]])
