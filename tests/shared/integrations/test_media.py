"""Files that a run keeps: what they hold, where they lie, and how many there may be."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import operant
from operant.shared.integrations import media_folder
from operant.shared.integrations.media import (
    Image,
    MediaWriter,
    Video,
    quantiles_of,
    quantiles_of_buckets,
)
from operant.shared.integrations.media_folder import MediaFolder, NoRoomForMediaError
from operant.shared.integrations.pictures import picture_bytes, video_bytes


def opened(content: bytes) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(content))


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_a_picture_is_a_png_with_its_pixels(channels):
    pixels = np.random.default_rng(1).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    image = opened(picture_bytes(pixels))
    assert image.size == (7, 5)
    assert np.array_equal(np.asarray(image).reshape(5, 7, channels), pixels)


def test_real_numbers_are_spread_over_a_byte():
    # 0 -> 0, 0.5 -> 127, 1 -> 255; of -1 to 1: -1 -> 0, 0 -> 127, 1 -> 255
    assert np.asarray(opened(picture_bytes(np.array([[0.0, 0.5, 1.0]])))).tolist() == [
        [0, 127, 255]
    ]
    assert np.asarray(opened(picture_bytes(np.array([[-1.0, 0, 1]])))).tolist() == [[0, 127, 255]]


def test_a_batch_is_a_grid_in_rows():
    batch = np.stack([np.full((2, 3, 1), 50 * n, np.uint8) for n in range(3)])
    grid = np.asarray(opened(picture_bytes(batch)))
    assert grid.shape == (4, 6)
    assert [grid[0, 0], grid[0, 3], grid[2, 0], grid[2, 3]] == [0, 50, 100, 0]


def test_channels_may_come_first():
    pixels = np.zeros((3, 2, 2), np.uint8)
    pixels[0] = 255
    assert opened(picture_bytes(pixels, channels_first=True)).getpixel((0, 0)) == (255, 0, 0)


def test_a_video_is_an_animation_with_its_frames():
    frames = np.stack([np.full((3, 4, 4), 60 * n, np.uint8) for n in range(3)])
    film = opened(video_bytes(frames, fps=4))
    assert film.n_frames == 3
    film.seek(2)
    assert film.convert("RGB").getpixel((0, 0)) == (120, 120, 120)
    assert film.info["duration"] == 250


def test_quantiles_of_buckets_are_spread_evenly_within_them():
    # 100 values below 1, none in 1 to 9, 100 in 9 to 10: the half lies where the second begins.
    found = quantiles_of_buckets([100, 0, 100], [0.0, 1.0, 9.0, 10.0])
    assert found == pytest.approx({"p05": 0.1, "p25": 0.5, "p50": 9.0, "p75": 9.5, "p95": 9.9})
    assert quantiles_of_buckets([0, 0], [0, 1, 2]) == {}
    with pytest.raises(ValueError, match="must be finite"):
        quantiles_of_buckets([1, 1], [0, float("nan"), 2])


def test_quantiles_of_the_largest_numbers_are_finite():
    found = quantiles_of([-1.7e308, 1.7e308])
    assert found["p50"] == 0
    assert found["p95"] == pytest.approx(0.9 * 1.7e308, rel=1e-9)
    assert quantiles_of([-1e-308, 1e-308])["p95"] == pytest.approx(0.9e-308)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, float("nan"), 3.0], "1 of 3 values are not finite"),
        ([float("nan"), float("inf")], "no finite values"),
        ([], "no finite values"),
        ([1.0, 2.0], ""),
    ],
)
def test_what_a_histogram_leaves_out_is_said_once_by_an_event(values, said, seen):
    run = operant.init()
    for _ in range(2):
        run.log({"weights": operant.Histogram(values)})
        run.log({"array": np.array(values)})
    events = [event.text for event in seen.events if "finite" in event.text]
    names = ["weights", "array"] if values else ["weights"]  # an empty array says nothing
    assert events == ([f"'{name}': {said}" for name in names] if said else [])


@pytest.mark.parametrize(
    "name", ["../../escape", "/etc/passwd", "..", "a/../../b", "x\0y", "\x1b[31m", "", "e" * 500]
)
def test_no_name_leads_out_of_the_folder(name, tmp_path):
    folder = tmp_path / "run" / "media"
    folder.parent.mkdir()
    path = MediaFolder(folder).write("images", name, 3, ".png", b"x")
    assert path.parent == folder / "images"
    assert path.resolve().is_relative_to(folder.resolve())
    assert len(path.name) < 120
    assert {p.name for p in tmp_path.iterdir()} == {"run"}


def test_an_ending_that_is_none_is_left_out(tmp_path):
    path = MediaFolder(tmp_path).write("files", "a", 0, "./../x", b"x")
    assert path.name == "a-00000000"


def test_captions_lie_beside_their_files_and_are_not_counted(tmp_path, monkeypatch):
    pixels = np.zeros((2, 2), np.uint8)
    (tmp_path / "film.mp4").write_bytes(b"x")
    kept = MediaWriter(tmp_path / "run", lambda _, text: pytest.fail(text))
    (tmp_path / "run").mkdir(mode=0o700)
    images = [Image(pixels, caption="a\nb"), Image(Image(pixels, None, "second")), Image(pixels)]
    kept.take("shots", images, 1)
    kept.take("film", Video(tmp_path / "film.mp4", "third"), 1)
    media = tmp_path / "run" / "media"
    captions = {str(p.relative_to(media)): p.read_text() for p in media.rglob("*.caption")}
    assert captions == {
        "images/shots.0-00000001.png.caption": "a\nb",
        "images/shots.1-00000001.png.caption": "second",
        "videos/film-00000001.mp4.caption": "third",
    }
    monkeypatch.setattr(media_folder, "MAX_FILES", 5)
    MediaFolder(media).write("images", "last", 1, ".png", b"x", "fifth")
    with pytest.raises(NoRoomForMediaError, match="keeps 5 files"):
        MediaFolder(media).write("images", "more", 1, ".png", b"x")


def test_nothing_is_written_over_or_through_a_link(tmp_path):
    (tmp_path / "images").mkdir()
    target = tmp_path / "target"
    (tmp_path / "images" / "a-00000001.png").symlink_to(target)
    path = MediaFolder(tmp_path).write("images", "a", 1, ".png", b"x")
    assert path.name == "a-00000001.1.png"
    assert not target.exists()


def test_files_are_limited_in_size_and_number(tmp_path, monkeypatch):
    monkeypatch.setattr(media_folder, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr(media_folder, "MAX_FOLDER_BYTES", 25)
    folder = MediaFolder(tmp_path)
    with pytest.raises(NoRoomForMediaError, match="11 bytes"):
        folder.write("a", "a", 0, "", b"x" * 11)
    folder.write("a", "a", 0, "", b"x" * 10)
    MediaFolder(tmp_path).write("a", "b", 0, "", b"x" * 10)
    again = MediaFolder(tmp_path)  # what lies there counts
    with pytest.raises(NoRoomForMediaError, match="a run keeps"):
        again.write("a", "c", 0, "", b"x" * 10)
    monkeypatch.setattr(media_folder, "MAX_FILES", 2)
    with pytest.raises(NoRoomForMediaError, match="keeps 2 files"):
        again.write("a", "d", 0, "", b"")


def test_what_has_no_room_is_warned_of_once_and_the_loop_goes_on(seen, capsys, monkeypatch):
    monkeypatch.setattr(media_folder, "MAX_FILES", 1)
    run = operant.init()
    for step in range(3):
        run.log({"i": operant.Image(np.zeros((2, 2))), "a": step}, step=step)
    assert capsys.readouterr().err.count("not kept: a run keeps 1 files") == 1
    run.finish()
    assert seen.status.metrics == {"a": 2}
    assert len(list((seen.run.folder / "media").rglob("*.png"))) == 1


class Hostile:
    def __getattr__(self, name: str) -> object:
        raise RuntimeError("boom")

    def __iter__(self) -> object:
        raise RuntimeError("boom")


@pytest.mark.parametrize("make", ["Image", "Video", "Histogram"])
def test_no_data_ends_the_loop(make, seen):
    run = operant.init()
    for data in (Hostile(), None, object(), "/dev/zero", "/nowhere", b"", [], {}):
        run.log({"x": getattr(operant, make)(data), "y": data, "a": 1.0})
    assert seen.series("a") == [1.0] * 8


def test_a_pipe_is_no_file_to_keep(seen, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    operant.init().log({"x": operant.Image(tmp_path / "pipe")})
    assert "is not a regular file" in capsys.readouterr().err


def test_a_list_in_a_cell_of_a_table_is_kept_whole():
    numbers = list(range(100))
    run = operant.init()
    run.log({"t": operant.Table(columns=["a"], data=[[numbers]])})
    run.finish()
    (path,) = Path(run.dir).glob("media/tables/*.csv")
    assert list(csv.reader(path.open())) == [["a"], [str(numbers)]]
