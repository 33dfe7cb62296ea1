"""Templates of compiled loops: functions with names left open, and how these are declared.

One loop is compiled for many environments and distributions. The parts that differ are global names
of the template: functions `declared` with their signatures, `Unbound` constants or functions that
make memory, or other templates. `compiling.specialised` and `kernel.Kernel` bind these names, and
refuse a template with a name that is still open.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, NoReturn


class UnboundError(TypeError):
    """A template was compiled, or a declaration called, while a name was still open."""


class Unbound:
    """Placeholder of a constant, or of a function without arguments, that will be bound."""

    def __init__(self, meaning: str) -> None:
        self.meaning = meaning

    def __call__(self) -> NoReturn:
        raise UnboundError(f"bound by nothing: {self.meaning}")


def unbound(meaning: str) -> Any:
    """An `Unbound` that type checkers accept for a name of any type."""
    return Unbound(meaning)


def declared(function: Callable[..., Any]) -> Any:
    """A placeholder of a function that will be bound; `function` gives its signature and docstring.
    Calling it raises UnboundError.
    """

    @wraps(function)
    def declaration(*arguments: Any) -> NoReturn:
        raise UnboundError(f"bound by nothing: {function.__name__}")

    declaration.is_declaration = True  # type: ignore[attr-defined]
    return declaration


def bound_globals(template: FunctionType, bindings: Mapping[str, Any]) -> dict[str, Any]:
    """The globals of `template`, with `bindings` in place of its open names.

    Raises UnboundError if a name that it uses is still open.
    """
    names = {**template.__globals__, **bindings}
    still_open = [name for name in used_globals(template) if is_open(names.get(name))]
    if still_open:
        raise UnboundError(f"{template.__name__}: bound by nothing: {', '.join(still_open)}")
    return names


def is_open(value: Any) -> bool:
    """Whether a value is a placeholder."""
    return isinstance(value, Unbound) or hasattr(value, "is_declaration")


def used_globals(function: FunctionType) -> Iterator[str]:
    """The global names that `function` reads, without repetition."""
    instructions = dis.get_instructions(function)
    yield from dict.fromkeys(i.argval for i in instructions if i.opname == "LOAD_GLOBAL")


def rebound(
    function: Callable[..., Any],
    compile_: Callable[..., Any],
    bindings: Mapping[str, Any],
    copies: dict[Any, Any] | None = None,
) -> Callable[..., Any]:
    """A copy of `function` with its open names bound. All Python functions that it calls, directly
    or through others, are compiled by `compile_`, each of them once. Raises UnboundError.

    `copies` are the functions compiled so far.
    """
    copies = {} if copies is None else copies
    original: Any = getattr(function, "py_func", function)
    names = bound_globals(original, bindings)
    for name in original.__code__.co_names:
        if name in names and _is_ours(names[name]):
            called = getattr(names[name], "py_func", names[name])
            if called not in copies:
                copies[called] = compile_(rebound(called, compile_, bindings, copies))
            names[name] = copies[called]
    return FunctionType(original.__code__, names, original.__name__, original.__defaults__)


def rebound_all(
    functions: Sequence[Callable[..., Any]],
    compile_: Callable[..., Any],
    bindings: Mapping[str, Any],
) -> list[Callable[..., Any]]:
    """`rebound` for functions that share some of the functions that they call."""
    copies: dict[Any, Any] = {}
    return [rebound(function, compile_, bindings, copies) for function in functions]


def _is_ours(value: Any) -> bool:
    """Whether the value is a function in Python, compiled or not."""
    return isinstance(value, FunctionType) or hasattr(value, "py_func")
