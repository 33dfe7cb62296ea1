"""How loops are compiled, and how one is made for an environment or a distribution."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit

# Sums may be regrouped and fused, and division by zero gives infinity as everywhere else: without
# these the compiler cannot make vectors. NaN and infinity keep their meaning.
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

# Only loops that say `prange` are shared out: sums and array expressions would be split by the
# number of threads, and round differently with it.
PARALLEL: Any = {
    "prange": True,
    "comprehension": False,
    "fusion": False,
    "inplace_binop": False,
    "numpy": False,
    "reduction": False,
    "setitem": False,
    "stencil": False,
}

OPTIONS: Any = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy"}

compiled: Any = njit(**OPTIONS)


def specialised(
    template: Callable[..., Any], label: str, parallel: bool = False, **bindings: Any
) -> Callable[..., Any]:
    """Compile `template` with some of its globals replaced, as by an environment's own functions.

    The machine code is kept on disk under a name that tells the label and a digest of all sources
    that could go into it: other sources are never mistaken for these.
    """
    names = {**template.__globals__, **bindings}
    function = FunctionType(template.__code__, names, template.__name__, template.__defaults__)
    function.__qualname__ = f"{template.__name__}_{label}_{sources_digest()}"
    function.__module__ = template.__module__
    decorate: Any = njit(**OPTIONS, parallel=PARALLEL if parallel else False, cache=True)
    loop: Callable[..., Any] = decorate(function)
    return loop


@cache
def sources_digest() -> str:
    """Changes with every line of the kernels, the environments and the distributions."""
    trainer = Path(__file__).parent
    digest = hashlib.sha256()
    for folder in ("cuda", "distributions", "envs", "kernels"):
        for path in sorted((trainer / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
