"""How a vessel moves, against numbers of the authors' simulator and of mechanics."""

from __future__ import annotations

import numpy as np
import pytest
from marine_worlds import OneWorld, compiled_for

from operant.shared.errors import ConfigError
from operant.trainer.envs.marine_nav.currents import current_at
from operant.trainer.envs.marine_nav.layout import (
    GROUND_VX,
    HEADING,
    LEFT_N,
    RIGHT_N,
    WATER_VX,
    WATER_VY,
    YAW_RATE,
    X,
    Y,
)
from operant.trainer.envs.marine_nav.scenario import Scenario, put_scenario
from operant.trainer.envs.marine_nav.vessel import accelerations, discrete_thrust_rates
from operant.trainer.envs.marine_nav.world import World

ROOM = World(5, 4, 6, "continuous", "injected", precision="float64")
FAR = (500.0, 500.0)
CIRCULATION = 3 * np.pi  # 3 m/s at the edge of a core of half a metre
CLOCKWISE, COUNTER = [10.0, 10.0, 1.0, CIRCULATION], [14.0, 11.0, 0.0, CIRCULATION]


def vessel(start=(0.0, 0.0), heading=0.0, vortices=()):
    """A world with one robot far from its goal."""
    world = OneWorld(ROOM)
    cores = np.array(vortices, float).reshape(-1, 4)
    starts, goals = np.array([start]), np.array([FAR])
    world.start(Scenario(starts, goals, np.array([heading]), np.zeros((0, 3)), cores))
    return world


def after(world, *fields, actions):
    """These fields of the robot after each of the decisions."""
    rows = []
    for action in actions:
        world.step(np.array([action] * 5, float))
        rows.append(world.robots(*fields)[0])
    return np.array(rows)


@pytest.mark.slow
def test_both_thrusters_ahead():
    found = after(vessel(), X, WATER_VX, GROUND_VX, LEFT_N, actions=[(1, 1)] * 4)
    expected = [
        (0.27767252, 1.158902429, 1.063648073, 500),
        (1.266891649, 2.714156492, 2.621079761, 1000),
        (2.758399095, 3.192807318, 3.169644317, 1000),
        (4.386384211, 3.303376243, 3.298334848, 1000),
    ]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_one_thruster_ahead_and_one_astern_turn_the_vessel():
    found = after(vessel(), HEADING, YAW_RATE, X, Y, actions=[(1, -1)] * 4)
    np.testing.assert_allclose(
        found[:, :2],
        [
            (0.088489054, 0.36223336),
            (0.362438789, 0.726610763),
            (0.767777757, 0.887192694),
            (1.227909022, 0.949401338),
        ],
        atol=1e-8,
    )
    np.testing.assert_allclose(found[-1, 2:], (1.034874301, 0.088088253), atol=1e-8)


def test_a_mixed_course():
    fields = (X, Y, HEADING, WATER_VX, WATER_VY, YAW_RATE, LEFT_N, RIGHT_N)
    actions = [(0.8, 0.2), (0.8, 0.2), (-0.5, 0.5), (0, 0)]
    found = after(vessel(), *fields, actions=actions)[-1]
    expected = [2.607672686, -0.061010858, 0.362743718, 2.19492131, -0.022558687, 0.194824622]
    np.testing.assert_allclose(found, [*expected, 550, 450], atol=1e-8)


def test_drag_holds_thrust_at_the_speeds_that_mechanics_says():
    acceleration = compiled_for(accelerations, ROOM)
    # (100 + 150 v) v = 2000 N at 10/3 m/s, 1000 N at (sqrt(100^2 + 4 x 150 x 1000) - 100) / 300;
    # (980 + 950 r) r = 1.25 m x 1500 N at 0.98078 rad/s.
    astern, turning = -(np.sqrt(610_000) - 100) / 300, 0.98078
    ahead = acceleration(10 / 3, 0.0, 0.0, 10 / 3, 0.0, 1000.0, 1000.0)
    back = acceleration(astern, 0.0, 0.0, astern, 0.0, -500.0, -500.0)
    turn = acceleration(0.0, 0.0, turning, 0.0, 0.0, 1000.0, -500.0)
    assert ahead == pytest.approx((0, 0, 0), abs=1e-12)
    assert back == pytest.approx((0, 0, 0), abs=1e-12)
    assert turn[2] == pytest.approx(0, abs=1e-4)


def test_discrete_actions_are_all_pairs_of_five_rates():
    rates = compiled_for(discrete_thrust_rates, ROOM)
    all_pairs = [rates(np.arange(25), k) for k in range(25)]
    fifths = [0, -500, -1000, 500, 1000]
    assert all_pairs == [(left, right) for left in fifths for right in fifths]


@pytest.mark.parametrize(
    ("vortices", "point", "expected"),
    [
        ([CLOCKWISE], (12, 10), (0, -0.75)),
        ([CLOCKWISE], (10.3, 10), (0, -1.8)),
        ([CLOCKWISE], (8, 13), (0.346153846, 0.230769231)),
        ([CLOCKWISE, COUNTER], (12, 10), (0.3, -1.35)),
        ([CLOCKWISE, COUNTER], (10.3, 10), (0.102110279, -2.177808033)),
        ([CLOCKWISE], (10, 10), (0, 0)),  # the middle of a core, where the direction has no meaning
        ([], (12, 10), (0, 0)),
    ],
)
def test_currents(vortices, point, expected):
    state = vessel(vortices=vortices).state
    found = compiled_for(current_at, ROOM)(state, 0, *map(float, point))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_vessel_among_vortices():
    world = vessel((12.0, 8.0), 0.5, [CLOCKWISE, COUNTER])
    found = after(world, X, Y, HEADING, actions=[(0.6, 0.6)] * 3)
    expected = [
        (12.135844697, 7.794056579, 0.5),
        (12.712622402, 7.83222637, 0.5),
        (13.852457013, 8.163891176, 0.5),
    ]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_scenario_that_there_is_no_room_for_is_refused():
    too_many = np.zeros((6, 2))
    scenario = Scenario(too_many, too_many, np.zeros(6), np.zeros((0, 3)), np.zeros((0, 4)))
    with pytest.raises(
        ConfigError, match="a scenario has 6 robots, and the run's world has room for 5"
    ):
        put_scenario(vessel().state, 0, scenario, ROOM)
