"""Machine code on disk, written and read by several processes."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from operant.shared.runs import small_file
from operant.trainer.jit import machine_code
from operant.trainer.jit.compiling import specialised


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "code"))
    return tmp_path / "code"


def total(x):
    result = 0.0
    for i in range(len(x)):
        result += x[i]
    return result


FLOATS, INTEGERS = np.arange(4.0), np.arange(4)


@pytest.fixture
def make_loop(cache, monkeypatch):
    """A loop that knows only the files, like that of another process."""
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(cache))
    return lambda: specialised(total, "test")


def test_code_of_one_signature_never_stands_for_that_of_another(make_loop, monkeypatch):
    """One process is held up before its first file is in its place, where another writes its own;
    then it is killed before its next.
    """
    replace, num_replaced = os.replace, 0

    def held_up(source, target):
        nonlocal num_replaced
        num_replaced += 1
        if num_replaced == 1:
            monkeypatch.setattr(os, "replace", replace)
            assert make_loop()(INTEGERS) == 6.0
            monkeypatch.setattr(os, "replace", held_up)
        if num_replaced == 2:
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(os, "replace", held_up)
    with contextlib.suppress(KeyboardInterrupt):
        make_loop()(FLOATS)
    monkeypatch.setattr(os, "replace", replace)
    assert make_loop()(FLOATS) == 6.0
    assert make_loop()(INTEGERS) == 6.0


def test_damaged_machine_code_is_compiled_anew(make_loop, cache):
    make_loop()(FLOATS)
    files = [path for path in cache.rglob("*") if path.is_file()]
    for path in files:
        os.truncate(path, path.stat().st_size // 2)
    assert make_loop()(FLOATS) == 6.0
    again = make_loop()
    assert again(FLOATS) == 6.0
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_changed_byte_is_noticed(make_loop, cache):
    make_loop()(FLOATS)
    (path,) = cache.rglob("*.nbc")
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    path.write_bytes(content)
    loop = make_loop()
    assert loop(FLOATS) == 6.0
    assert not loop.stats.cache_hits


def test_machine_code_is_written_for_this_user_alone(make_loop, cache):
    former = os.umask(0)
    try:
        make_loop()(FLOATS)
    finally:
        os.umask(former)
    (path,) = cache.rglob("*.nbc")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("mode", "owner"), [(0o600, 0), (0o620, 0), (0o602, 0), (0o600, 12345)])
def test_machine_code_that_others_could_have_written_is_not_loaded(make_loop, cache, mode, owner):
    if os.getuid() != 0:
        pytest.skip("needs the right to give a file away")
    make_loop()(FLOATS)
    (path,) = cache.rglob("*.nbc")
    path.chmod(mode)
    os.chown(path, owner, owner)
    loop = make_loop()
    assert loop(FLOATS) == 6.0
    assert bool(loop.stats.cache_hits) == (mode == 0o600 and owner == 0)


def test_a_full_disk_is_no_reason_not_to_compile(make_loop, cache, monkeypatch):
    full = lambda path: os.open("/dev/full", os.O_WRONLY)  # noqa: E731
    monkeypatch.setattr(small_file, "create_anew", full)
    assert make_loop()(FLOATS) == 6.0
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_every_process_counts_its_functions_from_elsewhere():
    """Numba's count is no public name: where it is called otherwise, this says so."""
    first = next(machine_code.FunctionIdentity._unique_ids)
    code = (
        "from operant.trainer.jit.machine_code import FunctionIdentity as F\n"
        "print(next(F._unique_ids))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert abs(first - int(other.stdout)) > 1_000_000
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writing, str(next(machine_code.FunctionIdentity._unique_ids)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert abs(first - int(os.read(reading, 100))) > 1_000_000
    os.close(reading)
    os.close(writing)
