"""Machine code on disk, for many processes that compile at once and may be killed meanwhile.

Numba numbers its files by an index, which two processes may write at the same time: the name of one
signature's code then stands for another's. And it names the functions within by a count of each
process's own, so that what two processes compiled, with other constants, may have one name in a
third. Here a file's name follows from what it is for, and every process counts from elsewhere.

Numba asks whether the file that holds a loop has changed. Here machine code is kept under a digest
of the functions and constants that the loop reaches, in whatever files they are. To change a
comment, a docstring or a function that no loop calls compiles nothing anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import secrets
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core.bytecode import FunctionIdentity
from numba.core.serialize import dumps

from ...shared.errors import PageError
from ...shared.runs.owners import check_file, own
from ...shared.runs.small_file import open_regular, write_whole

DIGEST_BYTES = 32
COUNT_BITS = 60  # of which two processes begin at the same number only by a rare chance


def _count_from_elsewhere() -> None:
    FunctionIdentity._unique_ids = count(secrets.randbits(COUNT_BITS))


_count_from_elsewhere()
os.register_at_fork(after_in_child=_count_from_elsewhere)


def kept_on_disk(loop: Any) -> Any:
    """The same compiled loop, made with `cache=True`, its machine code in `Files`."""
    cache: Any = getattr(loop, "_cache", None)
    if getattr(cache, "_cache_file", None):  # else nothing is compiled, as with NUMBA_DISABLE_JIT
        name = loop.py_func.__qualname__.replace("<", "").replace(">", "")
        cache._cache_file = Files(Path(cache.cache_path), name, code_digest(loop))
    return loop


def is_on_disk(loop: Any) -> bool:
    """Whether the machine code of `loop` is on disk, for whatever types of arguments."""
    files = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    return isinstance(files, Files) and files.has_any()


class Files:
    """The machine code of one loop: one file per signature, readable by this user alone. A file
    that is damaged, or that another user owns or could write, counts as missing. Has the methods
    that Numba calls.
    """

    def __init__(self, folder: Path, name: str, code: str) -> None:
        self._folder, self._start = folder, f"{name}-{code[:16]}"
        self._source = (numba.__version__, code)

    def has_any(self) -> bool:
        return any(self._folder.glob(f"{self._start}.*.nbc"))

    def path(self, key: Any) -> Path:
        """The file of the code for `key`, which holds the signature and the processor."""
        signature, *others = key
        text = repr((self._source, [(kind, _fields(kind)) for kind in signature], others))
        return self._folder / f"{self._start}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.nbc"

    def load(self, key: Any) -> Any:
        """The code saved for `key`, or None if there is no usable file."""
        try:
            fd = open_regular(self.path(key))
            with os.fdopen(fd, "rb") as file:
                check_file(fd, own())  # it is loaded by pickle, and is run
                content = file.read()
        except (OSError, PageError):
            return None
        digest, body = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            return None
        known, code = pickle.loads(body)
        return code if known == key else None  # types of one name may be others

    def save(self, key: Any, code: Any) -> None:
        body: bytes = dumps((key, code))  # type: ignore[no-untyped-call]
        content = hashlib.sha256(body).digest() + body
        with contextlib.suppress(OSError):  # a full disk: it is compiled again another time
            write_whole(self.path(key), content, outlives_power_cut=False)

    def flush(self) -> None:
        """Does nothing: new code replaces the old files."""


def _fields(kind: Any) -> Any:
    """The field names of a named tuple and of those within it, which its type's name lacks."""
    return getattr(kind, "fields", None), [_fields(inner) for inner in getattr(kind, "types", ())]


def code_digest(loop: Any) -> str:
    """A digest of everything but the argument types that determines the machine code of `loop`: the
    instructions of all functions of ours that it reaches, their constants and compiler options.
    """
    reached = _ReachedFunctions()
    digest = hashlib.sha256(reached.described(loop).encode())
    for function in reached.functions:  # which grows meanwhile
        for line in reached.lines(function):
            digest.update(line.encode() + b"\n")
    return digest.hexdigest()


class _ReachedFunctions:
    """The functions that a loop reaches, in the order of discovery, and everything that Numba
    compiles of them, as text. Equal code gives equal text in every process.
    """

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self._numbers: dict[FunctionType, int] = {}

    def lines(self, function: FunctionType) -> Iterator[str]:
        """The instructions and constants of `function`; registers the functions that it calls."""
        yield function.__module__  # machine code looks up its globals in it, by this name
        yield self.described([function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            yield self.described(cell.cell_contents)
        yield from self._code_lines(function.__code__, function.__globals__, function.__doc__)

    def _code_lines(
        self, code: CodeType, names: dict[str, Any], docstring: str | None = None
    ) -> Iterator[str]:
        num_arguments = code.co_argcount + code.co_kwonlyargcount
        yield f"{code.co_code.hex()} {code.co_flags} {code.co_varnames[:num_arguments]}"
        for number, constant in enumerate(code.co_consts):
            if isinstance(constant, CodeType):
                yield from self._code_lines(constant, names)
            else:  # a docstring comes first
                is_docstring = number == 0 and constant == docstring
                yield self.described(None if is_docstring else constant)
        for name in code.co_names:
            value = names.get(name)
            yield f"{name} {self.described(value)}"
            if isinstance(value, ModuleType) and not _is_foreign(value.__name__):
                read = [x for x in code.co_names if hasattr(value, x)]
                yield self.described([(x, getattr(value, x)) for x in read])

    def described(self, value: Any) -> str:
        """The type and value of a constant, or the number of a function."""
        # Numba's loops and intrinsics have theirs inside.
        function = getattr(value, "py_func", getattr(value, "_defn", value))
        if isinstance(function, FunctionType) and not _is_foreign(function.__module__):
            if function not in self._numbers:
                self._numbers[function] = len(self.functions)
                self.functions.append(function)
            options = self.described(getattr(value, "targetoptions", None))
            return f"function {self._numbers[function]} {options}"
        match value:
            case np.ndarray():
                return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
            case list() | tuple():
                kind = f"{type(value).__name__} {getattr(value, '_fields', '')}"
                return f"{kind} ({', '.join(map(self.described, value))})"
            case set() | frozenset():
                return f"set {sorted(map(self.described, value))}"
            case dict():
                return f"dict {sorted(map(self.described, value.items()))}"
            case type() | FunctionType() | ModuleType():
                fields = getattr(value, "_fields", "")
                return f"{getattr(value, '__module__', '')} {value.__name__} {fields}"
        text = repr(value)  # with an address it is of no constant that Numba could compile
        return text if " at 0x" not in text else type(value).__qualname__


def _is_foreign(module: str | None) -> bool:
    """Whether a module comes with Python or Numba, whose version then stands for it."""
    package = (module or "").partition(".")[0]
    return package in {"numba", "numpy", "llvmlite"} or package in sys.stdlib_module_names
