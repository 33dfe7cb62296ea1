"""The C library's malloc is set to keep large freed blocks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from operant.trainer.machine import main_memory
from operant.trainer.machine.main_memory import keep_freed_memory

TRIM, MMAP, ARENAS = -1, -3, -8


@pytest.fixture
def library(monkeypatch):
    """A C library that refuses pieces larger than `largest`; `options` are what it took."""
    made = SimpleNamespace(largest=2**40, options={})

    def mallopt(option, value):
        if option == MMAP and value > made.largest:
            return 0
        made.options[option] = value
        return 1

    made.mallopt = mallopt
    monkeypatch.setattr(main_memory.ctypes, "CDLL", lambda _: made)
    return made


def test_large_pieces_are_kept(library):
    keep_freed_memory()
    assert library.options == {MMAP: 2**27, TRIM: 2**30, ARENAS: 1}


def test_an_older_library_keeps_what_it_can(library):
    library.largest = 2**25
    keep_freed_memory()
    assert library.options == {MMAP: 2**25, TRIM: 2**30, ARENAS: 1}
