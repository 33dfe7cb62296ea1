"""How loops are compiled, and how one is made for an environment or a distribution."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit

from .machine_code import kept_on_disk
from .templates import bound_globals

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

COMPILED = ("compiled", "cuda", "distributions", "envs", "replay")  # folders with compiled loops
HOST_SIDE = ("parts.py", "training")  # files and folders that only put them together

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

    The machine code is kept on disk under a name that tells the label and a digest of all sources
    that could go into it: other sources are never mistaken for these. Raises UnboundError where an
    open name that the template uses is bound by nothing.
    """
    assert isinstance(template, FunctionType)
    names = bound_globals(template, bindings)
    function = FunctionType(template.__code__, names, template.__name__, template.__defaults__)
    function.__qualname__ = f"{template.__name__}_{label}_{sources_digest()}"
    function.__module__ = template.__module__
    decorate: Any = njit(**options, parallel=PARALLEL if parallel else False, cache=True)
    loop: Callable[..., Any] = kept_on_disk(decorate(function))
    return loop


@cache
def sources_digest() -> str:
    """Changes with every line of all that compiled code could take a constant or function from."""
    digest = hashlib.sha256()
    for path in sources(Path(__file__).parent):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def sources(trainer: Path) -> list[Path]:
    """The modules with compiled loops, and all whose constants or functions they import, by any
    way. What imports nothing but classes of a module compiles nothing of it.
    """
    found: set[Path] = set()
    waiting = [p for folder in COMPILED for p in (trainer / folder).rglob("*.py")]
    waiting = [path for path in waiting if not {path.name, path.parent.name} & set(HOST_SIDE)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported_modules(path, trainer)
    return sorted(found)


def imported_modules(path: Path, trainer: Path) -> Iterator[Path]:
    """The files below `trainer` that a module takes more than classes from."""
    for dots, module, names in _RELATIVE_IMPORT.findall(path.read_text()):
        package = path.parents[len(dots) - 1].joinpath(*module.split("."))
        aliases = [name for name in re.findall(r"\w+", names) if not _CLASS.fullmatch(name)]
        for place in (*([package] if aliases else []), *(package / name for name in aliases)):
            for file in (place.with_suffix(".py"), place / "__init__.py"):
                if file.is_relative_to(trainer) and file.is_file():
                    yield file


_RELATIVE_IMPORT = re.compile(r"^ *from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_CLASS = re.compile(r"[A-Z]\w*[a-z]\w*")
