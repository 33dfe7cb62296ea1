"""Which tests are slow: those that start a process, open the monitor, or train by a command or the
Python API. What a test does is read from its code, the code of its fixtures and of the functions of
tests/ and tools/ that these call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from inspect import isclass, isfunction, ismodule, unwrap
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OWN_FOLDERS = (str(ROOT / "tests"), str(ROOT / "tools"))
# Functions of modules.
STARTS = {
    "subprocess": {"Popen", "run", "check_call", "check_output"},
    "pexpect": {"spawn"},
    "pty": {"fork", "spawn"},
    "os": {"fork", "forkpty", "posix_spawn"},
    "multiprocessing": {"Process", "Pool", "get_context"},
    "operant": {"train"},
}
# Whatever they belong to: a pilot of the monitor, a notebook, a recorder.
SLOW_NAMES = {"run_test", "NotebookClient", "start_recorder"}
COMMANDS = {"operant", "operant_json"}  # of command_line.py, in this process
TRAINING = {"train", "sweep", "autotune", "bench"}


def is_slow(test: pytest.Function) -> bool:
    fixtures = test._fixtureinfo.name2fixturedefs.values()
    functions = [test.function, *(each.func for defined in fixtures for each in defined)]
    return any(is_slow_code(function) for function in functions)


@cache
def is_slow_code(function: Callable[..., Any]) -> bool:
    """Whether a function starts a process, opens the monitor or trains, or calls one that does."""
    seen: set[Any] = set()
    waiting = [unwrap(function)]
    while waiting:
        called = waiting.pop()
        if called in seen or not isfunction(called):
            continue
        seen.add(called)
        names, words = _names_of(called.__code__)
        found = {name: called.__globals__[name] for name in names & called.__globals__.keys()}
        modules = [value.__name__ for value in found.values() if ismodule(value)]
        if names & SLOW_NAMES or any(names & STARTS.get(module, set()) for module in modules):
            return True
        commands = {x.__name__ for x in found.values() if _module_of(x) == "command_line"}
        if commands & COMMANDS and words & TRAINING:
            return True
        waiting += _own_functions(found.values(), names)
    return False


def _names_of(code: CodeType) -> tuple[set[str], set[Any]]:
    """Names and constants of a function, those of functions inside it as well."""
    names, words = {*code.co_names}, {each for each in code.co_consts if isinstance(each, str)}
    for each in code.co_consts:
        if isinstance(each, CodeType):
            inner_names, inner_words = _names_of(each)
            names |= inner_names
            words |= inner_words
    return names, words


def _module_of(value: Any) -> str:
    return str(getattr(value, "__module__", ""))


def _own_functions(values: Any, names: set[str]) -> Iterator[Any]:
    """Functions of tests/ and tools/ among these, methods and functions of modules included."""
    for value in values:
        if ismodule(value):
            if str(getattr(value, "__file__", "")).startswith(OWN_FOLDERS):
                inner = [getattr(value, name) for name in names if hasattr(value, name)]
                yield from _own_functions([x for x in inner if not ismodule(x)], names)
        elif isclass(value):
            file = getattr(sys.modules.get(_module_of(value)), "__file__", None)
            if str(file).startswith(OWN_FOLDERS):
                yield from (unwrap(each) for each in vars(value).values() if isfunction(each))
        elif isfunction(value) or hasattr(value, "__wrapped__"):
            function = unwrap(value)
            if isfunction(function) and function.__code__.co_filename.startswith(OWN_FOLDERS):
                yield function
