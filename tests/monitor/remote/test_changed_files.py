"""A mirror holds what the run's folder holds, whatever changed in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operant.monitor.remote.changed_files import BEGIN_BYTES, GrowingFile, PageFile, SmallFile
from operant.monitor.remote.frames import MOST_BYTES, TAIL_BYTES, Frame, StreamError
from operant.monitor.remote.mirror import MAX_MEDIA, MAX_MIRROR_BYTES, Mirror
from operant.shared import MetricsReader, MetricsWriter


@pytest.fixture
def page(operant_pages):
    writer = MetricsWriter.create(operant_pages / "a.page", "run", [], publish_interval_s=1.0)
    yield writer
    writer.remove()


@pytest.fixture
def mirror():
    mirror = Mirror("box")
    yield mirror
    mirror.close()


def mirrored(mirror: Mirror, pieces) -> int:
    """Take the pieces of a run's file; returns how many bytes they had."""
    num_bytes = 0
    for head, data in pieces:
        mirror.take(Frame({"run": "x", **head}, data))
        num_bytes += len(data)
    return num_bytes


def path_of(mirror: Mirror, name: str) -> Path:
    return mirror.run("x").folder / name


def test_a_mirrored_page_follows_publish_by_publish(page, mirror):
    reader, sent, there = MetricsReader.attach(page.path), PageFile(), None
    for number in range(1, 200):
        page.publish({"loss": 1 / number, "speed": number}, number, 10 * number)
        page.event("info", f"event {number}")
        if number % 7 == 0:
            mirrored(mirror, sent.pieces(reader))
            there = there or MetricsReader.attach(path_of(mirror, "page"))
            assert there.read() == reader.read()
            assert there.events()[-1].text == f"event {number}"
    assert mirrored(mirror, sent.pieces(reader)) > 0
    assert not list(sent.pieces(reader))  # nothing new, nothing sent


def test_the_same_page_sent_anew_stays_the_same_file(page, mirror):
    page.publish({"loss": 1.0}, 1, 1)
    reader = MetricsReader.attach(page.path)
    mirrored(mirror, PageFile().pieces(reader))
    there = MetricsReader.attach(path_of(mirror, "page"))
    page.publish({"loss": 2.0}, 2, 2)
    mirrored(mirror, PageFile().pieces(reader))  # connected anew
    assert there.read().metrics == {"loss": 2.0}


@given(st.lists(st.one_of(st.binary(min_size=1, max_size=9), st.just(None)), max_size=9))
def test_a_file_that_grows_or_begins_anew_is_mirrored(changes):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path, mirror = Path(folder) / "console.log", Mirror("box")
        sent = GrowingFile(path)
        for change in changes:
            if change is None:
                path.unlink(missing_ok=True)
                path.touch()
            else:
                with path.open("ab") as file:
                    file.write(change)
            mirrored(mirror, sent.pieces())
            if path.exists():
                assert path_of(mirror, "console.log").read_bytes() == path.read_bytes()
        mirror.close()


def test_of_a_long_file_its_last_lines_are_mirrored(tmp_path, mirror):
    path = tmp_path / "console.log"
    sent = GrowingFile(path)
    with path.open("wb") as file:
        for number in range(20 * TAIL_BYTES // (1 << 20)):
            file.write(b"%d\n" % number * (1 << 18))
            file.flush()
            assert mirrored(mirror, sent.pieces()) < 2 * TAIL_BYTES
    shown = path_of(mirror, "console.log").read_bytes()
    assert BEGIN_BYTES // 2 < len(shown) <= TAIL_BYTES
    assert path.read_bytes().endswith(b"\n" + shown)


def test_a_small_file_is_sent_when_it_was_written(tmp_path, mirror):
    path = tmp_path / "notes.toml"
    sent = SmallFile(path)
    assert not list(sent.pieces())
    for text in (b"name = 'a'\n", b"name = 'another'\n", b""):
        path.write_bytes(text)
        mirrored(mirror, sent.pieces())
        assert path_of(mirror, "notes.toml").read_bytes() == text
        assert not list(sent.pieces())
    path.write_bytes(b"x" * (MOST_BYTES["notes.toml"] + 1))
    assert list(sent.pieces()) == [({"file": "notes.toml", "size": 0}, b"")]


@pytest.mark.parametrize(
    "head",
    [
        {"file": "../x"}, {"file": "checkpoints/1.pt"}, {"file": ""}, {"file": "lock"},
        {"file": "page", "at": MOST_BYTES["page"]}, {"file": "page", "size": 1 << 40},
        {"file": "console.log", "at": -1}, {"file": "place.json"}, {"file": "page", "size": -1},
        {"file": "media", "part": "../x"}, {"file": "media", "part": "media/images/.x"},
        {"file": "media", "part": "media/images/../../x"}, {"file": "media", "part": "page"},
    ],
)  # fmt: skip
def test_only_known_files_of_bounded_length_are_written(mirror, head):
    before = set(mirror._folder.rglob("*"))
    if head["file"]:
        with pytest.raises(StreamError):
            mirrored(mirror, [(head, b"data")])
    assert set(mirror._folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "\U0001f600" * 200])
def test_a_name_that_no_file_can_have_is_refused(mirror, name):
    with pytest.raises(StreamError, match="media cannot be written"):
        mirrored(mirror, [({"file": "media", "part": f"media/images/{name}"}, b"data")])


def test_all_files_together_are_bounded(mirror):
    for number in range(3 * MAX_MIRROR_BYTES // MOST_BYTES["page"]):
        for size in (MOST_BYTES["page"], 0):
            head = {"run": f"{number}", "file": "page", "size": size, "version": "1"}
            mirror.take(Frame(head))
    files = [path for path in mirror._folder.rglob("*") if path.is_file()]
    assert 0 < sum(path.stat().st_size for path in files) <= MAX_MIRROR_BYTES


def test_folders_of_media_go_with_their_last_file(mirror):
    for number in range(2 * MAX_MEDIA):
        mirrored(mirror, [({"file": "media", "part": f"media/kind{number}/a-00000001"}, b"data")])
    assert len(list(path_of(mirror, "media").iterdir())) == MAX_MEDIA


def test_folders_of_killed_monitors_are_removed(mirror, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ours = Mirror("box")
    left = ours._folder.with_name(ours._folder.name.replace("mirror-", "mirror-", 1) + "x")
    parts = left.name.split("-")
    parts[4] = "1"  # a process of that number that began at another time
    left = left.with_name("-".join(parts))
    left.mkdir()
    other = Mirror("box")
    assert not left.exists()
    assert ours._folder.exists()
    ours.close()
    other.close()
    np.testing.assert_equal(list(tmp_path.iterdir()), [])
