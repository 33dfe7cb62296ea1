"""Episodes as files: what comes out is what went in, and what is no whole file is one line."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playing import CountedEpisodes

from operant.shared.episodes.episode_file import (
    FORMAT,
    MOST_LINE_BYTES,
    read_episode,
    write_moments,
)
from operant.shared.episodes.scene import ROLES, Frame, Moment, Scene, Shape, points_of
from operant.shared.errors import UsageError

numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 4))
pairs = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4)
shapes = st.builds(
    lambda kind, points, role, radius, text, agent: Shape(
        kind, points_of(points), role, radius, text, agent
    ),
    st.sampled_from(["line", "area", "circle", "disc", "text"]), pairs, st.sampled_from(ROLES),
    st.floats(0, 9).map(lambda x: round(x, 4)), st.text(max_size=5), st.integers(-1, 3),
)  # fmt: skip
scenes = st.builds(
    lambda drawn, stretched: Scene((-1.0, -2.0), (3.0, 4.0), tuple(drawn), stretched),
    st.lists(shapes, max_size=4), st.booleans(),
)  # fmt: skip
frames = st.integers(0, 255).map(lambda v: Frame(np.full((2, 3, 3), v, np.uint8)))
views = st.one_of(
    st.lists(scenes, min_size=1, max_size=5), st.lists(frames, min_size=1, max_size=3)
)


def written(moments):
    file = io.BytesIO()
    assert write_moments(file, "sea", 3, moments) == len(moments)
    return file.getvalue()


def as_text(view):
    return view.pixels.tolist() if isinstance(view, Frame) else repr(view)


@given(views)
def test_what_is_read_is_what_was_written(tmp_path_factory, drawn):
    last = len(drawn) - 1
    moments = [
        Moment(view, step, (0.5 * step, math.nan), ("", "arrived"), step == last)
        for step, view in enumerate(drawn)
    ]
    path = tmp_path_factory.mktemp("e") / "a.episode.gz"
    path.write_bytes(written(moments))
    episode = read_episode(path)
    assert (episode.env, episode.seed, episode.num_agents) == ("sea", 3, 2)
    for moment in moments:
        found = episode.moment(0)
        assert as_text(found.view) == as_text(moment.view)
        assert (found.step, found.endings, found.is_over) == (
            moment.step, moment.endings, moment.is_over,
        )  # fmt: skip
        np.testing.assert_array_equal(found.returns, moment.returns)
        episode.step()


def test_a_pen_that_is_lifted_stays_lifted(tmp_path):
    line = Shape("line", points_of([(0, 0), (math.nan, math.nan), (1, 1)]), "ground")
    (tmp_path / "a").write_bytes(
        written([Moment(Scene((0, 0), (1, 1), (line,)), 0, (0.0,), ("",), True)])
    )
    (shape,) = read_episode(tmp_path / "a").moment(0).view.shapes
    np.testing.assert_array_equal(shape.points, line.points)


def test_what_stays_the_same_is_written_once():
    episodes = CountedEpisodes(200)
    episodes.begin(0, 0)
    moments = [episodes.moment(0)]
    while not episodes.step():
        moments.append(episodes.moment(0))
    lines = gzip.decompress(written(moments)).splitlines()
    assert sum(line.count(b'"ground"') for line in lines) == 1


def good_lines():
    episodes = CountedEpisodes(2)
    episodes.begin(0, 0)
    data = gzip.decompress(written([episodes.moment(0)]))
    return [json.loads(line) for line in data.splitlines()]


def changed(**values):
    head, moment = good_lines()
    return [head, {**moment, **values}]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([], "is not a file of an episode that operant recorded"),
        ([["a list"]], "is not a file of an episode that operant recorded"),
        ([{"format": "operant episode 99"}], "is not a file of an episode that operant recorded"),
        ([{"format": FORMAT, "env": "sea", "seed": 1}], "damaged: no moments"),
        ([{"format": FORMAT}, good_lines()[1]], "damaged"),
        (changed(shapes=[7]), "damaged"),
        (changed(shapes=[-1]), "damaged: a shape that is not there"),
        (changed(new=[["line", "sorcery", 0, "", -1, [0, 0]]]), "damaged: a shape of"),
        (changed(new=[["disc", "body", 1, "", -1, [None, 0]]]), "damaged: a disc"),
        (changed(new=[["line", "body", 1, "", -1, [0, 0, 1]]]), "damaged"),
        (changed(part=[0, 0, 0, 1]), "damaged: a view"),
        (changed(part=[0, 0, 1e999, 1]), "damaged"),
        (changed(returns=[1, 2]), "damaged: an odd number"),
        (changed(pixels="", size=[10**9, 10**9]), "damaged: a frame"),
        (changed(pixels="AAAA", size=[1, 1]), "damaged"),
        (changed(step="x"), "damaged"),
    ],
)
def test_what_does_not_hold_together_is_one_line(tmp_path, lines, words):
    path = tmp_path / "a.episode.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    with pytest.raises(UsageError, match=words) as caught:
        read_episode(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("cut", [0, 5, 40, -9])
def test_a_file_that_was_cut_off_is_one_line(tmp_path, cut):
    path = tmp_path / "a.episode.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, good_lines())).encode())[:cut])
    with pytest.raises(UsageError) as caught:
        read_episode(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_unpacks_to_more_than_there_can_be_is_refused(tmp_path):
    path = tmp_path / "a.episode.gz"
    path.write_bytes(gzip.compress(json.dumps({"format": FORMAT}).encode() + b"\n" + b" " * 20_000))
    with pytest.raises(UsageError, match="too large"):
        read_episode(path, most_bytes=10_000)


def test_an_episode_takes_little_more_memory_than_its_file_unpacked(tmp_path):
    num_moments, num_agents = 50, 10_000
    moment = changed(returns=[0] * num_agents, endings=[""] * num_agents)[1]
    line = json.dumps(moment, separators=(",", ":")).encode() + b"\n"
    path = tmp_path / "a.episode.gz"
    head = json.dumps({"format": FORMAT, "env": "sea", "seed": 1}).encode() + b"\n"
    path.write_bytes(gzip.compress(head + line * num_moments))
    tracemalloc.start()
    try:
        episode = read_episode(path)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert episode.num_agents == num_agents
    assert kept_bytes < 1.2 * num_moments * len(line) < 8 * num_moments * num_agents


def test_shapes_count_with_the_memory_that_they_take(tmp_path):
    shape = good_lines()[1]["new"][0]
    path = tmp_path / "a.episode.gz"
    path.write_bytes(
        gzip.compress("\n".join(map(json.dumps, changed(new=[shape] * 1000))).encode())
    )
    assert len(gzip.decompress(path.read_bytes())) < 200_000
    with pytest.raises(UsageError, match="too large"):
        read_episode(path, most_bytes=200_000)


def test_a_line_without_an_end_is_refused_before_it_is_in_memory(tmp_path):
    path = tmp_path / "a.episode.gz"
    path.write_bytes(gzip.compress(b"\0" * (MOST_LINE_BYTES + 10), 1))
    with pytest.raises(UsageError, match="too large"):
        read_episode(path)


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.episode.gz")
    for path in (tmp_path / "a.episode.gz", Path("/dev/zero")):
        with pytest.raises(UsageError, match="not a regular file"):
            read_episode(path)


def test_nothing_is_read_where_there_is_nothing(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_episode(tmp_path / "a.episode.gz")
    with pytest.raises(UsageError, match="cannot be read: not a regular file"):
        read_episode(tmp_path)
