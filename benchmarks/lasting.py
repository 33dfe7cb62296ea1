"""Errors of CUDA that every later call in the same process repeats."""

from __future__ import annotations

LASTING = ("CUDA_ERROR", "CUDA error", "illegal memory access", "CUDA driver error")
PASSING = ("OUT_OF_MEMORY", "out of memory", "graph capture", "capturing", "PTX")


def is_lasting(text: str) -> bool:
    """Whether all that comes after such an error in this process fails too."""
    return any(x in text for x in LASTING) and not any(x in text for x in PASSING)
