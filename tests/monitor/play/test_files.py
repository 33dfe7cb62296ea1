"""Episodes in files that other programs read."""

from __future__ import annotations

import os
import stat
import weakref
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from PIL import Image
from playing import CountedEpisodes

from operant.monitor.play.film import HEAD
from operant.monitor.play.filming import WIDTH, moments_of, write_episode
from operant.monitor.play.svg import _BACK_TO_FRONT
from operant.shared.episodes.scene import ROLES, Frame
from operant.shared.errors import UsageError

SVG = "{http://www.w3.org/2000/svg}"


class Pictures(CountedEpisodes):
    """Frames that get lighter."""

    def moment(self, selected):
        pixels = np.full((30, 50, 3), 20 * self.elapsed, np.uint8)
        made = super().moment(selected)
        return type(made)(Frame(pixels), made.step, made.returns, made.endings, made.is_over)


def write(path, episodes=None, speed=10.0, fps=10.0, most_steps=1000):
    return write_episode(path, episodes or CountedEpisodes(5), None, speed, fps, most_steps, None)


def values_of(animation):
    return animation.get("values").split(";"), list(
        map(float, animation.get("keyTimes").split(";"))
    )


def test_an_svg_moves_what_moves_and_writes_the_rest_once(tmp_path):
    assert write(tmp_path / "a.svg") == 6
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.tag == f"{SVG}svg"
    track, dot = root.findall(f"{SVG}g/{SVG}path")
    assert track.find(f"{SVG}animate") is None
    paths, times = values_of(dot.find(f"{SVG}animate"))
    assert len(set(paths)) == 6
    # six frames of 0.1 s, and a second more for the last
    np.testing.assert_allclose(times, np.arange(6) * 0.1 / 1.6, atol=1e-3)
    captions = [text.text for text in root.findall(f"{SVG}text")]
    assert captions[0] == "line, seed 7: step 0, return 0.0"
    assert captions[-1] == "line, seed 7: step 5, return 5.0, time limit"


def test_what_a_frame_of_a_gif_loses_by_rounding_the_next_gains(tmp_path):
    # thirty frames a second: 3.33 hundredths each
    write(tmp_path / "a.gif", CountedEpisodes(6), speed=30.0, fps=30.0)
    with Image.open(tmp_path / "a.gif") as gif:
        durations = []
        for number in range(6):
            gif.seek(number)
            durations.append(gif.info["duration"])
    assert durations == [30, 40, 30, 30, 40, 30]


def test_a_film_is_written_as_it_is_played(tmp_path, monkeypatch):
    """Frames of an hour need not all be in memory."""
    made_so_far, most = [], 0

    class Watched(Pictures):
        def moment(self, selected):
            nonlocal most
            made = super().moment(selected)
            made_so_far.append(weakref.ref(made.view.pixels))
            most = max(most, sum(pixels() is not None for pixels in made_so_far))
            return made

    for name in ("a.svg", "a.gif"):
        assert write(tmp_path / name, Watched(12)) == 13
    assert most <= 4


def test_a_film_is_as_slow_as_it_is_asked_to_be(tmp_path):
    # two env steps a second, ten frames at most: a step every half second
    write(tmp_path / "a.gif", speed=2.0)
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 6
        assert gif.info["duration"] == 500


def test_an_svg_of_frames_has_a_picture_for_each_that_differs(tmp_path):
    write(tmp_path / "a.svg", Pictures(3))
    images = ElementTree.parse(tmp_path / "a.svg").getroot().findall(f"{SVG}g/{SVG}image")
    assert len({image.get("href") for image in images}) == 4
    assert all(image.get("href").startswith("data:image/png;base64,iVBOR") for image in images)


def test_every_role_has_its_place_in_a_file():
    assert set(_BACK_TO_FRONT) == set(ROLES)


@pytest.mark.parametrize("episodes", [CountedEpisodes(5), Pictures(5)], ids=["scene", "frames"])
def test_a_gif_opens_and_has_all_frames(tmp_path, episodes):
    assert write(tmp_path / "a.gif", episodes) == 6
    with Image.open(tmp_path / "a.gif") as gif:
        assert gif.n_frames == 6
        assert gif.info["loop"] == 0
        assert gif.info["duration"] == 100
        assert gif.width == (WIDTH if type(episodes) is CountedEpisodes else 50)
        first = np.asarray(gif.convert("RGB"))[HEAD:]
        gif.seek(5)
        assert gif.info["duration"] == 1000
        assert (np.asarray(gif.convert("RGB"))[HEAD:] != first).any()


def test_an_mp4_is_what_ffmpeg_makes_of_all_pixels(tmp_path, monkeypatch):
    told = tmp_path / "told"
    fake(tmp_path, f'echo "$@" > {told}; cat > "${{@: -1}}"', monkeypatch)
    write(tmp_path / "a.mp4")
    height, width = 266, WIDTH  # 624 pixels for 7 units: 2 units are less than the lowest, 240
    assert f"-s {width}x{height} -r 10" in told.read_text()
    assert (tmp_path / "a.mp4").stat().st_size == 6 * width * height * 3


def test_what_ffmpeg_says_is_told_and_nothing_is_left(tmp_path, monkeypatch):
    fake(tmp_path, 'echo "no such encoder" >&2; exit 3', monkeypatch)
    with pytest.raises(UsageError, match="code 3: no such encoder"):
        write(tmp_path / "a.mp4")
    assert not list(tmp_path.glob("*a.*"))


def test_without_ffmpeg_an_mp4_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs ffmpeg"):
        write(tmp_path / "a.mp4")


def test_without_pillow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(UsageError, match=r"pip install 'operant-rl\[play\]'"):
        write(tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a.png", ".svg, .gif or .mp4"), ("a", ".svg, .gif or .mp4"),
     ("no/a.svg", "there is no folder"),
     ("", "that is a folder")],
)  # fmt: skip
def test_a_file_that_cannot_be_is_one_line(tmp_path, name, reason):
    with pytest.raises(UsageError, match=reason):
        write(tmp_path / name)


def test_a_full_disk_is_one_line_and_leaves_no_half_of_a_file(tmp_path):
    (tmp_path / ".a.svg.building.svg").symlink_to("/dev/full")
    with pytest.raises(UsageError, match="No space left"):
        write(tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


def test_frames_are_as_many_as_the_speed_asks_for():
    def steps(speed, fps, most_steps=1000):
        episodes = CountedEpisodes(10)
        episodes.begin(0, 0)
        return [moment.step for moment in moments_of(episodes, speed / fps, most_steps)]

    assert steps(10, 10) == list(range(11))
    assert steps(40, 10) == [0, 4, 8, 10]
    # no step is shown twice
    assert steps(5, 10) == list(range(11))
    assert steps(40, 10, most_steps=6) == [0, 4, 6]


def fake(folder, script, monkeypatch):
    """An ffmpeg of our own."""
    bin = folder / "bin"
    bin.mkdir()
    (bin / "ffmpeg").write_text(f"#!/usr/bin/env bash\n{script}\n")
    (bin / "ffmpeg").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
