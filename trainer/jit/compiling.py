"""Compiles loops, and specialises them for an environment or a distribution.

A loop consists of parts. A part is compiled anew with every loop that calls it, so machine code is
made and kept on disk only for the loops that Python calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from types import FunctionType
from typing import Any

from numba import config, jit, njit
from numba.core.cpu_options import ParallelOptions
from numba.core.registry import CPUDispatcher

from . import late_code
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

# Sums in the order that they are written in: the same bits on every processor and on a GPU. Without
# reference counts, which such code must not need, as it makes no arrays: counting those of the
# arrays in its arguments can take most of the time of short functions.
IN_ORDER: Any = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False}

late_code.install()


class Part(CPUDispatcher):
    """A function that loops call. If Python calls it, it is compiled once more."""

    @cached_property
    def _from_python(self) -> Callable[..., Any]:
        options = {**self.targetoptions, "no_cpython_wrapper": False, "no_cfunc_wrapper": False}
        loop: Callable[..., Any] = jit(**options)(self.py_func)
        return loop

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._from_python(*arguments, **keywords)


def part(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function that loops call, without what Python would need to call it."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return function
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return Part(function, targetoptions={"nopython": True, **wrappers, **options})


compiled: Any = partial(part, **OPTIONS)
compiled_in_order: Any = partial(part, **IN_ORDER)


def specialised(
    template: Callable[..., Any],
    label: str,
    parallel: bool = False,
    options: Any = OPTIONS,
    **bindings: Any,
) -> Callable[..., Any]:
    """Compile `template` with its open names bound, for example to an environment's functions.

    The machine code is kept on disk under the label and a digest of the code, so that other code is
    never mistaken for it. Raises UnboundError if a name that the template uses is still open.
    """
    decorate: Any = njit(**options, **_sharing(parallel), cache=True)
    loop: Callable[..., Any] = kept_on_disk(decorate(_bound(template, label, bindings)))
    return loop


def specialised_part(
    template: Callable[..., Any], label: str, parallel: bool = False, **bindings: Any
) -> Callable[..., Any]:
    """`specialised` for a part of other loops."""
    options = {**OPTIONS, **_sharing(parallel)}
    loop: Callable[..., Any] = part(_bound(template, label, bindings), **options)
    return loop


def _sharing(parallel: bool) -> dict[str, Any]:
    return {"parallel": PARALLEL if parallel else False}


def _bound(template: Callable[..., Any], label: str, bindings: dict[str, Any]) -> FunctionType:
    assert isinstance(template, FunctionType)
    names = bound_globals(template, bindings)
    function = FunctionType(template.__code__, names, template.__name__, template.__defaults__)
    function.__qualname__ = f"{template.__name__}_{label}"
    function.__module__ = template.__module__
    return function
