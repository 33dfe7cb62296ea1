"""How loops are compiled, and how one is made for an environment or a distribution."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba import njit
from numba.core.cpu_options import ParallelOptions

from .machine_code import kept_on_disk
from .templates import bound_globals

# Sums may be regrouped and fused, and division by zero gives infinity as everywhere else: without
# these the compiler cannot make vectors. NaN and infinity keep their meaning.
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

# Only loops that say `prange` are shared out: sums and array expressions would be split by the
# number of threads, and round differently with it. No dict: Numba empties one as it compiles, and
# what it compiles after that would have everything shared out.
PARALLEL: Any = ParallelOptions(  # type: ignore[no-untyped-call]
    {
        "prange": True,
        "comprehension": False,
        "fusion": False,
        "inplace_binop": False,
        "numpy": False,
        "reduction": False,
        "setitem": False,
        "stencil": False,
    }
)

OPTIONS: Any = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy"}

compiled: Any = njit(**OPTIONS)

# Sums in the order that they are written in: the same bits on every processor and on a GPU. Without
# reference counts, which such code must not need, as it makes no arrays: counting those of the
# arrays in its arguments can take most of the time of short functions.
IN_ORDER: Any = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False}

compiled_in_order: Any = njit(**IN_ORDER)


def specialised(
    template: Callable[..., Any],
    label: str,
    parallel: bool = False,
    options: Any = OPTIONS,
    **bindings: Any,
) -> Callable[..., Any]:
    """Compile `template` with its open names bound, as to an environment's own functions.

    The machine code is kept on disk under a name that tells the label and a digest of the code:
    other code is never mistaken for it. Raises UnboundError where an open name that the template
    uses is bound by nothing.
    """
    assert isinstance(template, FunctionType)
    names = bound_globals(template, bindings)
    function = FunctionType(template.__code__, names, template.__name__, template.__defaults__)
    function.__qualname__ = f"{template.__name__}_{label}"
    function.__module__ = template.__module__
    decorate: Any = njit(**options, parallel=PARALLEL if parallel else False, cache=True)
    loop: Callable[..., Any] = kept_on_disk(decorate(function))
    return loop
