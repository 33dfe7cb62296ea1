"""Scenarios in files: read as they were written, and refused in one line where they are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from operant.shared.errors import ConfigError
from operant.trainer.envs.marine_nav.compiled_world import World
from operant.trainer.envs.marine_nav.scenario import (
    MOST_BYTES,
    Scenario,
    read_scenarios,
    write_scenarios,
)
from operant.trainer.envs.marine_nav.world import scenarios_in

CALM = Scenario(
    np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), np.array([0.25]), np.zeros((0, 3)),
    np.zeros((0, 4)),
)  # fmt: skip
BUSY = Scenario(
    starts=np.array([[10.0, 10.0], [10.0, 30.0]]),
    goals=np.array([[40.0, 10.0], [40.0, 30.0]]),
    headings=np.array([0.0, 1.5]),
    obstacles=np.array([[25.0, 10.0, 1.0], [25.0, 30.0, 1.0]]),
    vortices=np.array([[25.0, 20.0, 1.0, 9.42]]),
)


def test_what_is_written_is_read_again(tmp_path):
    write_scenarios(tmp_path / "seas.npz", [CALM, BUSY])
    for expected, found in zip([CALM, BUSY], read_scenarios(tmp_path / "seas.npz"), strict=True):
        for one, other in zip(expected, found, strict=True):
            assert one.shape == other.shape
            assert (one == other).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goals": None}, "has no array goals"),
        ({"counts": np.array([[2.0, 2.0, 1.0]])}, "counts are whole numbers"),
        ({"counts": np.array([[3, 2, 1]])}, r"starts must be numbers of the shape \(3, 2\)"),
        ({"goals": np.array([[{}, {}]] * 2)}, "is not a file of scenarios"),
        ({"headings": np.array([0.0, np.nan])}, "headings must be finite, and none beyond 1e"),
        ({"obstacles": np.array([[25.0, 10.0, 0.0]] * 2)}, "radii of obstacles must be above 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, changes, words):
    arrays = {"counts": np.array([[2, 2, 1]]), **BUSY._asdict(), **changes}
    path = tmp_path / "seas.npz"
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(ConfigError, match=words) as caught:
        read_scenarios(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04"])
def test_other_files_are_refused_in_one_line(tmp_path, content):
    path = tmp_path / "seas.npz"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is not a file of scenarios, an npz of NumPy"):
        read_scenarios(path)


def test_what_there_is_no_room_for_is_named_with_its_place(tmp_path):
    path = tmp_path / "seas.npz"
    write_scenarios(path, [CALM, BUSY])
    world = World(robots=2, obstacles=1, vortices=1)
    with pytest.raises(ConfigError, match=r"seas.npz, scenario 1: has 2 obstacles, and the run's"):
        scenarios_in(world, path)


def test_a_file_that_unpacks_to_more_than_there_can_be_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", counts=np.zeros(MOST_BYTES, np.uint8))
    assert (tmp_path / "a.npz").stat().st_size < 1 << 20
    with pytest.raises(ConfigError, match=f"more than {MOST_BYTES} bytes"):
        read_scenarios(tmp_path / "a.npz")
