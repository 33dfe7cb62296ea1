"""A run that cannot be begun leaves nothing: no page, no folder, no lock, no open file."""

from __future__ import annotations

import contextlib
import errno
import gc
import itertools
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

import operant
from operant.shared.runs.find_runs import list_runs
from operant.shared.runs.run_folder import memory_runs_folder, runs_folder

pytestmark = pytest.mark.slow

# What a begin asks of the system that it may refuse.
CALLS = (
    "os.open", "os.mkdir", "os.rename", "os.posix_fallocate", "os.pwrite", "os.utime",
    "os.scandir", "os.memfd_create", "mmap.mmap", "fcntl.fcntl",
)  # fmt: skip


class Failures:
    """Has the call of number `at`, of all of `CALLS`, fail; `happened` once it has."""

    def __init__(self, at: int, error: BaseException) -> None:
        self._at, self._error = at, error
        self._num_calls = 0
        self.happened = ""

    def forget(self) -> None:
        """Let go of the frames that the failure came through: they have the run."""
        self._error.__traceback__ = self._error.__context__ = None

    @contextmanager
    def __call__(self):
        with pytest.MonkeyPatch.context() as patches:
            for name in CALLS:
                patches.setattr(name, self._failing(name, _found(name)))
            yield

    def _failing(self, name, original):
        def call(*arguments, **keywords):
            self._num_calls += 1
            if self._num_calls == self._at:
                self.happened = name
                raise self._error
            return original(*arguments, **keywords)

        return call


def _found(name: str):
    module, _, attribute = name.partition(".")
    return getattr(__import__(module), attribute)


def open_files() -> dict[str, str]:
    """The open files of this process, except the listing itself."""
    found = {}
    for entry in os.listdir("/proc/self/fd"):
        try:
            found[entry] = os.readlink(f"/proc/self/fd/{entry}")
        except FileNotFoundError:
            continue
    return found


def newly_open(before: dict[str, str]) -> dict[str, str]:
    """The files that were opened since `before`; others may have been closed."""
    return {fd: path for fd, path in open_files().items() if before.get(fd) != path}


def left(pages: Path) -> list[str]:
    """All that there is of runs."""
    folders = [runs_folder(), memory_runs_folder(), pages]
    found = [path for folder in folders if folder.exists() for path in folder.iterdir()]
    return [str(path) for path in found if path != memory_runs_folder()]


@pytest.fixture(autouse=True)
def _garbage_collection_is_fast():
    """Keep the objects of other tests out of each gc.collect()."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_whatever_the_system_refuses_a_loop_goes_on_and_leaves_no_half_of_a_run(
    number, operant_pages, capsys
):
    before = open_files()
    seen = set()
    for at in itertools.count(1):
        failures = Failures(at, OSError(number, os.strerror(number)))
        with failures():
            run = operant.init()
        failures.forget()
        seen.add(failures.happened)
        if run.id:
            assert [run.id] == [found.id for found in list_runs()]
        else:
            gc.collect()
            assert left(operant_pages) == [], f"{failures.happened} failed, call {at}"
            assert newly_open(before) == {}, f"{failures.happened} failed, call {at}"
        run.log({"loss": 1.0})
        run.finish()
        assert list(operant_pages.glob("*.page*")) == []
        assert newly_open(before) == {}, f"{failures.happened} failed, call {at}"
        for found in list_runs():
            shutil.rmtree(found.folder)
        if not failures.happened:
            break
    assert {"os.open", "os.mkdir", "os.rename", "os.posix_fallocate", "mmap.mmap"} <= seen


def test_a_begin_that_is_interrupted_leaves_nothing(operant_pages):
    before = open_files()
    for at in itertools.count(1):
        failures = Failures(at, KeyboardInterrupt())
        run = None
        with contextlib.suppress(KeyboardInterrupt), failures():
            run = operant.init()
        failures.forget()
        gc.collect()
        if run:
            run.finish()
            break
        assert left(operant_pages) == [], f"in {failures.happened}, call {at}"
        assert newly_open(before) == {}, f"in {failures.happened}, call {at}"
