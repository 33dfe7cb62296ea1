"""A process that was forked after compiled loops ran in several threads cannot run them."""

from __future__ import annotations

import os
import sys

from ...shared.errors import OperantError

_has_broken_threads = False


def check_not_forked() -> None:
    """Raises OperantError where GNU's OpenMP would end this process at its first parallel loop."""
    if _has_broken_threads:
        raise OperantError(
            "this process was forked from one in which operant had trained, and its threads are "
            'not there: start it with multiprocessing.get_context("spawn"), or use detach=True'
        )


def _look_for_threads() -> None:
    global _has_broken_threads
    numba = sys.modules.get("numba")
    try:
        _has_broken_threads = numba is not None and numba.threading_layer() == "omp"
    except ValueError:  # none was needed so far
        _has_broken_threads = False


os.register_at_fork(after_in_child=_look_for_threads)
