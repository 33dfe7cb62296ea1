"""Files that are written whole."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from operant.shared.runs.run_folder import Run
from operant.shared.runs.small_file import read_json, read_small, read_toml, toml_table, write_whole


def test_what_was_written_is_on_the_disk_before_it_has_the_file_s_name(tmp_path, monkeypatch):
    path = tmp_path / "notes.toml"
    write_whole(path, b"old")
    seen = []

    def synced(fd: int) -> None:
        with open(f"/proc/self/fd/{fd}", "rb") as file:
            seen.append((file.read(), path.read_bytes(), os.fstat(fd).st_ino))

    monkeypatch.setattr(os, "fsync", synced)
    write_whole(path, b"new")
    assert seen == [(b"new", b"old", path.stat().st_ino)]
    assert path.read_bytes() == b"new"


def test_where_the_disk_fails_the_old_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "notes.toml"
    write_whole(path, b"old")

    def failing(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(OSError, match="Input/output"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.slow
def test_processes_that_write_at_once_leave_the_whole_of_one_of_them(tmp_path):
    path = tmp_path / "monitor.toml"
    with ProcessPoolExecutor(2) as pool:
        for written in [pool.submit(_write_often, path, bytes([i]) * 200_000) for i in range(2)]:
            written.result()
    assert path.read_bytes() in (bytes(200_000), b"\1" * 200_000)
    assert list(tmp_path.iterdir()) == [path]


def _write_often(path, data):
    for _ in range(200):
        write_whole(path, data, outlives_power_cut=False)


@pytest.mark.parametrize("number", ["0x" + "f" * 6000, "-1" + "0" * 400, "0x8" + "0" * 255])
@pytest.mark.parametrize("form", ["a = {}", "a = [[{}]]", "[b]\n[b.c]\na = {}"])
def test_a_number_that_raises_wherever_it_is_looked_at_is_refused(tmp_path, form, number):
    path = tmp_path / "run.toml"
    path.write_text(form.format(number))
    with pytest.raises(ValueError, match="whole number of more than 1023 bits"):
        read_toml(path, 1 << 20)
    assert Run(tmp_path).manifest() == {}
    path.write_text(form.format("0x" + "f" * 255))
    assert Run(tmp_path).manifest()


def test_a_key_of_ever_so_many_parts_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "run.toml"
    long = ".".join("a" * 200)
    # A quote within a string of several lines begins no string that could hide a key.
    hidden = [
        f"x = {{a = {q}\n{p} {q}{q[0]}, {long} = 1, c = {p}"
        for q, p in (('"""', "'"), ("'''", '"'))
    ]
    for key in (".".join("a" * 20_000), '"a" . ' * 200 + "b", "x = {" + long, *hidden):
        path.write_text(f"{key} = 1\n")
        with pytest.raises(ValueError, match="more than 100 parts"):
            read_toml(path, 1 << 20)
    text = ".".join("a" * 300)
    numbers = [0.5] * 300
    path.write_text(f"a.b.c = '{text}'\nb = \"{text}\"\nc = {numbers}\n")
    assert read_toml(path, 1 << 20) == {"a": {"b": {"c": text}}, "b": text, "c": numbers}
    dots = "." * 300
    path.write_text(f'# {dots}\na = """\n{dots} \\""" # """ # {dots}\nb = \'\'\'\n{dots}\'\'\'\n')
    assert read_toml(path, 1 << 20) == {"a": f'{dots} """ # ', "b": dots}


@pytest.mark.parametrize("part", ['\\"', '"', '"\n', '"""\\', ".a", "''''\n", "#", ".\n="])
def test_looking_for_long_keys_takes_a_time_that_grows_with_the_text(part):
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"\w"):
        toml_table('"' + part * (2**18 // len(part)))
    assert time.perf_counter() - start < 5


def test_of_json_likewise(tmp_path):
    path = tmp_path / "table.json"
    path.write_text(f'{{"a": [{10**400}]}}')
    with pytest.raises(ValueError, match="whole number"):
        read_json(path, 1 << 20)


def test_a_file_may_have_as_many_bytes_as_are_allowed_and_no_more(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"x" * 100)
    assert read_small(path, 100) == b"x" * 100
    with pytest.raises(OSError, match="more than 99 bytes"):
        read_small(path, 99)
