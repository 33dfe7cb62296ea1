"""The monitor's memory does not grow by how many threads it has had."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys, threading
from operant.monitor.session.memory import keep_memory_flat

if sys.argv[1] == "flat":
    keep_memory_flat()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
barrier = threading.Barrier(5)

def take():
    barrier.wait()
    libc.malloc(1000)
    barrier.wait()
    barrier.wait()

for _ in range(4):
    threading.Thread(target=take).start()
barrier.wait()
barrier.wait()
file = ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
barrier.wait()
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="glibc's alone")
def test_all_threads_share_one_heap(tmp_path):
    def num_heaps(how: str) -> int:
        path = tmp_path / how
        subprocess.run([sys.executable, "-c", PROGRAM, how, str(path)], check=True)
        return path.read_text().count("<heap nr=")

    assert num_heaps("flat") == 1
    assert num_heaps("as it is") > 1
