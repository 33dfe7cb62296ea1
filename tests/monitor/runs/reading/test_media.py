"""Files that a loop logged: listed by name and step, and read within bounds."""

from __future__ import annotations

import os
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from imageio import v2 as imageio

import operant
from operant.monitor.render.table import Table
from operant.monitor.runs.reading import media
from operant.monitor.runs.reading.media import MediaFile, RecordedMedia, caption_of, content_of
from operant.shared.episodes.episode_file import write_moments
from operant.shared.episodes.scene import Frame, Moment
from operant.shared.install_command import install_command
from operant.shared.integrations.media_folder import MediaFolder
from operant.shared.integrations.pictures import picture_bytes, video_bytes
from operant.shared.runs.run_folder import Run

RED = np.array([[[255, 0, 0]]], np.uint8)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "run").mkdir(mode=0o700)
    return Run(tmp_path / "run")


def write(run: Run, name: str, content: bytes, kind: str = "images", step: int = 0, ending=".png"):
    return MediaFolder(run.folder / "media").write(kind, name, step, ending, content)


def content(run: Run):
    (file,) = RecordedMedia(run).read()
    return content_of(file)


def png_of(width: int, height: int) -> bytes:
    """A file that claims so many pixels."""
    file = b"\x89PNG\r\n\x1a\n"
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 100))):
        file += struct.pack(">I", len(data)) + kind + data
        file += struct.pack(">I", zlib.crc32(kind + data))
    return file


def test_files_come_by_name_and_step_and_lists_in_their_order(run):
    for step in (2000, 100):
        for place in (10, 2):
            write(run, f"eval/shot.{place}", b"x", step=step)
    write(run, "eval/shot.2", b"x", step=100)  # once more at that step
    write(run, "a", b"x", kind="tables", step=7, ending=".csv")
    found = [(f.kind, f.name, f.step, f.path.name) for f in RecordedMedia(run).read()]
    assert found == [
        ("images", "eval_shot", 100, "eval_shot.2-00000100.png"),
        ("images", "eval_shot", 100, "eval_shot.10-00000100.png"),
        ("images", "eval_shot", 100, "eval_shot.2-00000100.1.png"),
        ("images", "eval_shot", 2000, "eval_shot.2-00002000.png"),
        ("images", "eval_shot", 2000, "eval_shot.10-00002000.png"),
        ("tables", "a", 7, "a-00000007.csv"),
    ]


def test_the_same_files_come_until_there_are_others(run):
    recorded = RecordedMedia(run)
    assert recorded.read() == ()
    path = write(run, "a", b"half")
    before = recorded.read()
    assert recorded.read() is before
    path.write_bytes(b"all of it")
    assert [file.num_bytes for file in recorded.read()] == [9]
    write(run, "a", b"x", step=1)
    assert [file.step for file in recorded.read()] == [0, 1]
    os.utime(path.parent, (1, 1))  # as if nothing had come for long
    assert len(recorded.read()) == 2
    path.unlink()
    assert [file.step for file in recorded.read()] == [1]


def test_links_and_foreign_names_are_not_listed(run, tmp_path):
    folder = write(run, "a", b"x").parent
    (folder / "b-00000001.png").symlink_to("/etc/passwd")
    (folder / "notes.txt").write_text("x")
    (folder.parent / "elsewhere").symlink_to(tmp_path)
    os.mkfifo(folder / "c-00000001.png")
    assert [file.name for file in RecordedMedia(run).read()] == ["a"]
    for name in ("b-00000001.png", "c-00000001.png"):
        assert "cannot be drawn" in content_of(MediaFile("images", "b", 1, folder / name, 1))


def test_a_picture_and_the_first_frame_of_an_animation_are_pixels(run):
    write(run, "a", picture_bytes(RED))
    assert np.array_equal(content(run), RED)


def test_the_first_frame_of_an_animation_is_drawn(run):
    frames = np.stack([np.full((3, 4, 4), 60 * n, np.uint8) for n in range(3)])
    write(run, "film", video_bytes(frames, 4), kind="videos")
    assert np.array_equal(content(run), np.zeros((4, 4, 3), np.uint8))


def test_sixteen_bits_keep_their_upper_ones(run):
    path = write(run, "depth", b"")
    PIL.Image.fromarray(np.array([[0, 1 << 15]], np.uint16)).save(path)
    assert content(run)[0, :, 0].tolist() == [0, 128]


def test_large_pictures_are_shrunk(run, monkeypatch):
    monkeypatch.setattr(media, "LONGEST_SIDE", 4)
    write(run, "a", picture_bytes(np.zeros((8, 16), np.uint8)))
    assert content(run).shape == (2, 4, 3)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (png_of(10_000, 10_000), "100 megapixels are more than 64"),
        (png_of(2**31 - 1, 2**31 - 1), "cannot be drawn"),
        (b"no picture at all", "it is no picture"),
        (b"", "it is no picture"),
        (picture_bytes(np.zeros((99, 99), np.uint8))[:60], "cannot be drawn"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "it is no picture"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_one_line(run, data, why, recwarn):
    write(run, "bad", data)
    line = content(run)
    assert isinstance(line, str)
    assert line.startswith("bad-00000000.png cannot be drawn: ")
    assert why in line
    assert line.isprintable()
    assert not recwarn.list


def test_captions_are_read_as_one_line_and_are_no_files_of_their_own(run):
    folder = MediaFolder(run.folder / "media")
    path = folder.write("images", "a", 1, ".png", picture_bytes(RED), "one\n\x1b[31mtwo")
    folder.write("images", "a", 2, ".png", picture_bytes(RED))
    first, second = RecordedMedia(run).read()
    assert caption_of(first) == "one [31mtwo"
    assert caption_of(second) == ""
    caption = path.with_name(f"{path.name}.caption")
    caption.write_text("x" * 5000)
    assert caption_of(first) == ""
    caption.unlink()
    caption.symlink_to("/etc/hostname")
    assert caption_of(first) == ""


def test_without_a_package_the_line_says_what_to_install(run, monkeypatch):
    write(run, "a", picture_bytes(RED))
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert content(run) == f"pictures and videos need packages: {install_command('media')}"


def test_a_table_of_a_loop_comes_with_its_cells(run):
    columns, data = ["text", "score"], [["a, b", 0.5], ['say "x"', None]]
    table = operant.Table(columns=columns, data=data)
    table.write("t", lambda name, ending, data, _: write(run, name, data, "tables", 3, ending))
    assert content(run) == Table(columns, [["a, b", "0.5"], ['say "x"', ""]], True)


def test_a_table_of_a_million_rows_is_cut(run):
    write(run, "big", b"n\n" + b"1\n" * 1_000_000, "tables", ending=".csv")
    table = content(run)
    assert (len(table.rows), table.is_whole) == (media.MAX_ROWS, False)


def test_a_table_is_cut_at_a_whole_row_where_the_file_is_too_large(run, monkeypatch):
    write(run, "big", b"n\n" + b"123\n" * 100, "tables", ending=".csv")
    monkeypatch.setattr(media, "MAX_TABLE_BYTES", 40)
    assert content(run) == Table(["n"], [["123"]] * 9, False)


@pytest.mark.parametrize("data", [b"", b"a\n" + b"x" * 200_000])
def test_a_table_that_cannot_be_read_is_one_line(run, data):
    write(run, "t", data, "tables", ending=".csv")
    assert content(run).startswith("t-00000000.csv cannot be drawn: ")


def test_recorded_episodes_are_listed_by_iteration_and_read_within_bounds(run, monkeypatch):
    folder = run.folder / "episodes"
    folder.mkdir(mode=0o700)
    moments = [
        Moment(Frame(np.full((2, 3, 3), step, np.uint8)), step, (1.0,), ("",), step == 3)
        for step in range(4)
    ]
    with open(folder / "iteration-000000050.episode.gz", "wb") as file:
        write_moments(file, "sea", 3, moments)
    (file,) = RecordedMedia(run).read()
    assert (file.name, file.step, file.is_episode, file.is_drawn) == ("iteration", 50, True, True)
    assert content_of(file).num_agents == 1
    monkeypatch.setattr(media, "MAX_EPISODE_BYTES", 3 * 18)
    assert "cannot be drawn" in content_of(file)
    assert "too large" in content_of(file)
    file.path.unlink()
    file.path.symlink_to("/etc/passwd")
    assert "cannot be drawn" in content_of(file)


def test_the_first_frame_of_a_film_is_drawn(run, tmp_path):
    with imageio.get_writer(tmp_path / "film.mp4", macro_block_size=2) as film:
        for level in (40, 200):
            film.append_data(np.full((16, 32, 3), level, np.uint8))
    write(run, "film", (tmp_path / "film.mp4").read_bytes(), "videos", ending=".mp4")
    frame = content(run)
    assert frame.shape == (16, 32, 3)
    assert abs(frame.mean() - 40) < 3


def test_a_film_is_read_by_its_descriptor_and_an_error_of_ffmpeg_is_one_line(
    run, monkeypatch, tmp_path
):
    write(run, "film", b"a film", "videos", ending=".mp4")
    picture = tmp_path / "frame.png"
    picture.write_bytes(picture_bytes(RED))
    # It gives the frame only where it can read what the run has.
    program = tmp_path / "ffmpeg"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "assert open(sys.argv[sys.argv.index('-i') + 1]).read() == 'a film'\n"
        f"sys.stdout.buffer.write(open({str(picture)!r}, 'rb').read())\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    assert np.array_equal(content(run), RED)
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('moov atom not found')\n")
    assert content(run) == "film-00000000.mp4 cannot be drawn: moov atom not found"
