"""Scenarios in files: read as they were written, and refused in one line where they are wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.envs.marine_nav.making import scenarios
from operant.trainer.envs.marine_nav.scenario import Scenario
from operant.trainer.envs.marine_nav.scenario_files import read_scenarios, write_scenarios
from operant.trainer.envs.marine_nav.world import World

GOOD = {
    "starts": [[10.0, 10.0], [10.0, 30.0]],
    "goals": [[40.0, 10.0], [40.0, 30.0]],
    "headings": [0.0, 1.5],
    "obstacles": [[25.0, 10.0, 1.0], [25.0, 30.0, 1.0]],
    "vortices": [[25.0, 20.0, 1.0, 9.42]],
}


@pytest.fixture
def written(tmp_path):
    """Writes one scenario with changes (`None` leaves a key out); returns the file."""

    def write(**changes):
        lists = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
        path = tmp_path / "seas.json"
        path.write_text(json.dumps({"world": "marine_nav", "scenarios": [GOOD, lists]}))
        return path

    return write


def test_what_is_written_is_read_again(tmp_path):
    nothing = np.zeros((0, 3)), np.zeros((0, 4))
    calm = Scenario(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([0.25]), *nothing)
    busy = Scenario(**{key: np.array(value) for key, value in GOOD.items()})
    write_scenarios(tmp_path / "seas.json", [calm, busy])
    for expected, found in zip([calm, busy], read_scenarios(tmp_path / "seas.json"), strict=True):
        for one, other in zip(expected[:-1], found[:-1], strict=True):
            assert one.shape == other.shape
            assert (one == other).all()
        assert found.speeds is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goals": None}, "scenario 1: missing goals"),
        ({"goals": None, "headings": None}, "scenario 1: missing goals, headings"),
        ({"buoys": []}, "scenario 1: unknown key 'buoys'; there are starts"),
        ({"goals": [[1.0, 2.0]]}, "scenario 1: has 2 starts and 1 goals"),
        ({"headings": [0.0]}, "scenario 1: has 2 starts and 1 headings"),
        ({"starts": [], "goals": [], "headings": []}, "scenario 1: has no robots"),
        ({"starts": [1.0, 2.0]}, "scenario 1: starts are to be rows of 2 numbers"),
        ({"starts": [[1.0, 2.0], [3.0]]}, "scenario 1: starts are to be rows of 2 numbers"),
        ({"obstacles": [["a", 1, 2]]}, "scenario 1: obstacles are to be rows of 3 numbers"),
        ({"headings": [0.0, float("nan")]}, "scenario 1: headings are to be numbers"),
        ({"headings": [10**400, 0.0]}, "scenario 1: headings are to be numbers, none beyond"),
        ({"starts": [["10", 10.0], [10.0, 30.0]]}, "scenario 1: starts are to be rows of 2"),
        ({"headings": [True, 0.0]}, "scenario 1: headings are to be numbers"),
        ({"starts": [[3.0 * i, 0.0] for i in range(90_000)]}, "has 90000 starts, and no world has"),
        ({"obstacles": [[25.0, 10.0, 0.0]]}, "radii of obstacles are above 0"),
        (
            {"obstacles": [[25.0, 10.0, 1.0], [26.5, 10.0, 1.0]]},
            r"obstacle 0 and obstacle 1 overlap: 1.50 m apart, and their radii are 1.00 m and 1.00",
        ),
        (
            {"obstacles": [[12.0, 10.0, 1.0]]},
            "obstacle 0 and robot 0 overlap: 2.00 m apart, and their radii are 1.00 m and 2.80 m",
        ),
        ({"starts": [[10.0, 10.0], [15.0, 10.0]]}, "robot 0 and robot 1 overlap: 5.00 m apart"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(written, changes, words):
    with pytest.raises(ConfigError, match=words) as caught:
        read_scenarios(written(**changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not a file of scenarios"),
        ("[]", "scenarios of world = None, and these are for 'marine_nav'"),
        ('{"world": "env2", "scenarios": []}', "scenarios of world = 'env2', and these are for"),
        ('{"world": "marine_nav"}', "'scenarios' must be a list of at least one"),
        ('{"world": "marine_nav", "scenarios": []}', "'scenarios' must be a list of at least one"),
        ('{"world": "marine_nav", "scenarios": [7]}', "scenario 0: must be an object with starts"),
        ("[" * 100_000 + "]" * 100_000, "it nests too deeply"),
        (json.dumps({"world": "x" * 100_000}), "scenarios of world = 'x{59}, and these are for"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, text, words):
    path = tmp_path / "seas.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        read_scenarios(path)
    assert "\n" not in str(caught.value)


def test_what_has_no_end_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(ConfigError, match=f"cannot read {path}: not a regular file"):
            read_scenarios(path)


def test_what_there_is_no_room_for_is_named_with_its_place(written):
    world = World(robots=2, obstacles=1, vortices=1)
    with pytest.raises(ConfigError, match=r"seas.json, scenario 0: has 2 obstacles, and the run's"):
        scenarios(world, written())


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot read .*none.json: No such file or directory"):
        read_scenarios(tmp_path / "none.json")
