"""Episodes in files that other programs read."""

from __future__ import annotations

import sys
import weakref

import imageio.v3 as imageio
import numpy as np
import pytest
from PIL import Image
from playing import CountedEpisodes

from operant.monitor.play.filming import WIDTH, moments_of, write_episode
from operant.monitor.play.projection import HEAD
from operant.shared.episodes.scene import Frame
from operant.shared.errors import UsageError


class Pictures(CountedEpisodes):
    """Frames that get lighter."""

    def __init__(self, num_steps, size=(30, 50)):
        super().__init__(num_steps)
        self.size = size

    def moment(self, selected):
        pixels = np.full((*self.size, 3), 20 * self.elapsed, np.uint8)
        made = super().moment(selected)
        return type(made)(Frame(pixels), made.step, made.returns, made.endings, made.is_over)


def write(path, episodes=None, speed=10.0, fps=10.0, most_steps=1000):
    return write_episode(path, episodes or CountedEpisodes(5), None, speed, fps, most_steps, None)


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

    for name in ("a.mp4", "a.gif"):
        assert write(tmp_path / name, Watched(12)) == 13
    assert most <= 4


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


def test_an_mp4_has_all_frames_at_the_speed_that_was_asked_for(tmp_path):
    assert write(tmp_path / "a.mp4", Pictures(5)) == 6
    film = imageio.imread(tmp_path / "a.mp4", plugin="FFMPEG")
    assert film.shape == (6, 30 + HEAD, 50, 3)
    assert film[0, HEAD:].mean() < film[5, HEAD:].mean()
    assert imageio.immeta(tmp_path / "a.mp4", plugin="FFMPEG")["fps"] == 10


def test_frames_of_odd_size_are_padded(tmp_path):
    write(tmp_path / "a.mp4", Pictures(2, (31, 49)))
    assert imageio.imread(tmp_path / "a.mp4", plugin="FFMPEG").shape[1:3] == (32 + HEAD, 50)


def test_a_film_that_ffmpeg_cannot_finish_is_an_error_and_nothing_is_left(tmp_path, monkeypatch):
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text("#!/bin/sh\ncase $* in *rawvideo*) cat > /dev/null ;; esac\nexit 1\n")
    ffmpeg.chmod(0o700)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(ffmpeg))
    with pytest.raises(UsageError, match="ffmpeg wrote 0 of 6 frames"):
        write(tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == [ffmpeg]


@pytest.mark.parametrize("package", ["PIL", "imageio_ffmpeg"])
def test_without_a_package_the_extra_is_named(tmp_path, monkeypatch, package):
    monkeypatch.delitem(sys.modules, "operant.monitor.play.rastering", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"need {package}, .* 'operant-rl\[media\]'"):
        write(tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a.png", ".gif or .mp4"), ("a", ".gif or .mp4"),
     ("no/a.gif", "there is no folder"),
     ("", "that is a folder")],
)  # fmt: skip
def test_a_file_that_cannot_be_is_one_line(tmp_path, name, reason):
    with pytest.raises(UsageError, match=reason):
        write(tmp_path / name)


def test_a_full_disk_is_one_line_and_leaves_no_half_of_a_file(tmp_path):
    (tmp_path / ".building-a.gif").symlink_to("/dev/full")
    with pytest.raises(UsageError, match="No space left"):
        write(tmp_path / "a.gif")
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
