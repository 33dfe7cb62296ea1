"""Route files, the cache made of them, and what is said of broken ones."""

from __future__ import annotations

import io
import os
import shutil

import numpy as np
import pytest
from tinyphysics_files import write_route, write_routes

from operant.shared.errors import UsageError
from operant.trainer.envs.tinyphysics import route_cache
from operant.trainer.envs.tinyphysics.route_cache import RouteFolder
from operant.trainer.envs.tinyphysics.route_file import read_route


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_routes(tmp_path / "data", 3, num_rows=120)


@pytest.fixture
def caches(folder, tmp_path):
    """Finds the caches that there are."""
    return lambda: list((tmp_path / "cache").rglob("routes-*.npy"))


def never_parsed(paths, count):
    raise AssertionError("the routes are parsed again")


def change_line(path, line, change):
    lines = path.read_text().splitlines()
    lines[line - 1] = change(lines[line - 1])
    path.write_text("\n".join(lines) + "\n")


def test_a_route_is_read_in_the_simulators_units_and_signs(tmp_path):
    path = tmp_path / "a.csv"
    header = "t,vEgo,aEgo,roll,targetLateralAcceleration,steerCommand\n"
    path.write_text(header + "0.0,20.0,0.5,0.1,1.5,-0.25\n" * 101)
    rows = read_route(path)
    assert rows.shape == (101, 5)
    assert rows[0].tolist() == [1.5, np.sin(0.1) * 9.81, 20.0, 0.5, 0.25]


def test_the_second_time_nothing_is_parsed(folder, caches):
    seen = []
    first = RouteFolder(folder, progress=lambda paths, n: seen.append(n) or paths)
    again = RouteFolder(folder, progress=never_parsed)
    assert seen == [3]
    np.testing.assert_array_equal(first.take([2, 0]).rows, again.take([2, 0]).rows)
    assert again.take([2, 0]).names == ("00002.csv", "00000.csv")
    assert len(caches()) == 1


def test_a_changed_or_added_file_makes_another_cache(folder, caches):
    RouteFolder(folder)
    before = (folder / "00001.csv").stat()
    os.utime(folder / "00001.csv", ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(AssertionError):
        RouteFolder(folder, progress=never_parsed)
    RouteFolder(folder)
    write_route(folder / "00009.csv", num_rows=130)
    assert len(RouteFolder(folder)) == 4
    assert len(caches()) == 1


@pytest.mark.parametrize(
    "damaged",
    [
        lambda cache: b"",
        lambda cache: cache[:60] + b"(" + cache[61:],
        lambda cache: cache[:5000],
        lambda cache: _saved(np.zeros(0)),
        lambda cache: _saved(np.array([0.0, 4.0, 2.0, 1.0, *[0.0] * 5])),
    ],
)
def test_a_damaged_cache_is_made_anew(folder, caches, damaged):
    expected = RouteFolder(folder).take([0, 1, 2]).rows
    (cache,) = caches()
    cache.write_bytes(damaged(cache.read_bytes()))
    np.testing.assert_array_equal(RouteFolder(folder).take([0, 1, 2]).rows, expected)
    RouteFolder(folder, progress=never_parsed)


def _saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_without_any_place_for_a_cache_routes_are_read_all_the_same(folder, monkeypatch):
    def full(path, flat):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(route_cache, "_write", full)
    assert len(RouteFolder(folder)) == 3


def test_shorter_routes_go_on_with_their_last_row(folder):
    write_route(folder / "00009.csv", num_rows=150)
    routes = RouteFolder(folder).take([0, 3])
    assert routes.rows.shape == (2, 150, 5)
    assert routes.num_rows.tolist() == [120, 150]
    assert (routes.rows[0, 120:] == routes.rows[0, 119]).all()
    assert routes.at([0]).rows.shape == (1, 120, 5)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: change_line(p, 1, lambda s: s.replace("roll", "tilt")),
         "line 1: no column roll"),
        (lambda p: change_line(p, 57, lambda s: s.replace(s.split(",")[1], "nan")),
         "line 57: vEgo is not a number"),
        (lambda p: p.write_text("".join(p.read_text().splitlines(True)[:101])),
         "line 101: the route ends after 100 rows.*needs at least 101"),
        (lambda p: p.write_bytes(b"\xff\xfe\x00\x01" * 50), "line 1: .*decode"),
    ],
)  # fmt: skip
def test_a_broken_route_is_named_with_its_line_and_refused_or_skipped(folder, damage, message):
    damage(folder / "00001.csv")
    for _ in range(2):  # from the file, then from the cache
        with pytest.raises(UsageError, match=f"00001.csv.*{message}") as caught:
            RouteFolder(folder)
        assert "--skip-broken" in str(caught.value)
        assert "\n" not in str(caught.value)
    skipping = RouteFolder(folder, skip_broken=True)
    assert skipping.take([0, 1]).names == ("00000.csv", "00002.csv")
    assert ["00001.csv" in reason for reason in skipping.broken] == [True]


def _becomes_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def _leads_nowhere(path):
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_becomes_a_pipe, "00001.csv: cannot be read: not a regular file"),
        (_leads_nowhere, "00001.csv: cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_file_is_a_broken_route(folder, damage, words):
    damage(folder / "00001.csv")
    with pytest.raises(UsageError, match=words):
        RouteFolder(folder)
    assert len(RouteFolder(folder, skip_broken=True)) == 2


def test_steering_after_the_control_start_may_be_missing(folder):
    """It is never used, and the public logs leave it out."""
    for line in range(102, 122):
        change_line(folder / "00001.csv", line, lambda s: s.rsplit(",", 1)[0] + ",")
    assert np.isfinite(RouteFolder(folder).take([1]).rows).all()
    change_line(folder / "00001.csv", 101, lambda s: s.rsplit(",", 1)[0] + ",")
    with pytest.raises(UsageError, match="line 101: steerCommand is not a number"):
        RouteFolder(folder)


def test_a_folder_without_routes_says_where_they_come_from(folder, tmp_path):
    with pytest.raises(UsageError, match="operant tinyphysics download"):
        RouteFolder(tmp_path / "nowhere")
    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(UsageError, match="holds no routes"):
        RouteFolder(folder)
