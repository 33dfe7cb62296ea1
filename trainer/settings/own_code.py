"""Environments, networks and algorithms that a script or a notebook defines: a class, or a function
that returns one.

The configuration contains their name, `own/NAME`, and `register` adds the name to the table of this
process. Workers and detached runs receive the class or the function itself, by cloudpickle.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...shared.errors import ConfigError, OperantError
from ...shared.text.plain_values import described_error

PREFIX = "own/"

Make = Callable[..., Any]

_own: dict[str, Make] = {}


@contextlib.contextmanager
def user_code(what: str) -> Iterator[None]:
    """Turn what a user's code raises into a ConfigError of one line: that `what` fails."""
    try:
        yield
    except OperantError:
        raise
    except Exception as error:
        raise ConfigError(f"{what} fails: {described_error(error)}") from error


def is_own(name: str) -> bool:
    """Whether a name in a configuration is of a user's own code: `module:name`, or `own/NAME`."""
    return ":" in name or name.startswith(PREFIX)


def register(make: Make, name: str = "") -> str:
    """Register `make`; returns its name in a configuration. If another lambda, or a class whose
    notebook cell ran again, already has the name, a number is appended. An explicit `name` replaces
    whatever had it.
    """
    if not name:
        name = first = PREFIX + name_of(make)
        number = 1
        while _own.get(name, make) is not make:
            number += 1
            name = f"{first}-{number}"
    _own[name] = make
    return name


def name_of(make: Make) -> str:
    """The name of a class or function, such as `Line` or `make_line`; `lambda` for a lambda."""
    named = getattr(make, "func", make)  # the function of a functools.partial
    name = getattr(named, "__name__", type(named).__name__)
    return re.sub(r"\W+", "_", name).strip("_") or "own"


def own_code(name: str, setting: str, argument: str, instead: str) -> Make | None:
    """The class or function registered as `name`, such as `own/Line`; None for names without the
    prefix. Raises ConfigError if this process does not know it: the line names the `setting`, the
    `argument` of `operant.load` and `train`, and what to do `instead`.
    """
    if not name.startswith(PREFIX):
        return None
    if name not in _own:
        own = name.removeprefix(PREFIX)
        raise ConfigError(
            f"{setting}: a script or notebook defined {own}, and this process does not know it: "
            f"pass {argument}={own} to operant.load, or to operant.train with resume; or define it "
            f"in a module and {instead}"
        )
    return _own[name]


def pickled_own(names: Iterable[str], instead: str) -> bytes:
    """The registered classes and functions among `names`, pickled for `take_pickled` in another
    process; empty if there are none. Raises ConfigError if one cannot be pickled: the line says
    what to do `instead`.
    """
    own = {name: _own[name] for name in names if name in _own}
    if not own:
        return b""
    try:
        cloudpickle: Any = importlib.import_module("cloudpickle")  # which Gymnasium requires
        pickled: bytes = cloudpickle.dumps(own)
    except Exception as error:  # objects inside may raise anything
        raise ConfigError(
            f"{', '.join(name.removeprefix(PREFIX) for name in own)} cannot be sent to another "
            f"process ({described_error(error)}): {instead}, or define it in a module"
        ) from None
    return pickled


def take_pickled(pickled: bytes) -> None:
    """Register what `pickled_own` returned."""
    for name, make in pickle.loads(pickled).items():
        register(make, name)
