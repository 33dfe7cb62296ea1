"""The kernels of a GPU, thread by thread in Numba's CUDA simulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")


def test_the_kernels_hold_in_the_simulator():
    # The simulator is chosen when Numba is imported, so it needs a process of its own.
    path = Path(__file__).with_name("simulated_kernels.py")
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(path)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout[-5000:] + answer.stderr[-2000:]
