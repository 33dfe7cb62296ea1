"""The names that classes and functions of a user's have in a configuration."""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import sys
from collections.abc import Callable
from typing import Any

from ..shared.errors import UsageError
from ..shared.text.plain_values import described
from ..trainer.config.own_algorithms import PACKAGE
from ..trainer.config.sections import ALGORITHMS
from ..trainer.settings.importing import check_module
from ..trainer.settings.own_code import PREFIX, register


def own_name(make: Callable[..., Any], former: str | None = None) -> str:
    """The name of `make`: `module:name` if other processes can import it, else `own/NAME`, under
    which this process knows it from now on. `former` is the name in a run that is resumed or
    loaded; `make` gets it again if a script defined that too.
    """
    if former and former.startswith(PREFIX):
        return register(make, former)
    return _importable(make) or register(make)


def network_name(policy: Any, former: str | None = None) -> str:
    """The value of `policy.encoder` for a network of the user's. Raises UsageError."""
    check_network(policy)
    return own_name(policy, former)


def check_network(policy: Any) -> None:
    """Raises UsageError unless a call of `policy` may give a network."""
    torch = sys.modules.get("torch")  # it has been imported if there is a module
    if not callable(policy) or (torch and isinstance(policy, torch.nn.Module)):
        raise UsageError(
            f"policy = {described(policy)}: expected a torch.nn.Module class, or a function that "
            "takes the shape of observations and returns a module"
        )


def algorithm_name(algorithm: Any, former: str | None = None) -> str:
    """The value of `algorithm` for a class, also one of operant's; see `own_name`. Raises
    UsageError.
    """
    check_algorithm_class(algorithm)
    package, _, module = str(algorithm.__module__).rpartition(".")
    entry = ALGORITHMS.get(module) if package == PACKAGE else None
    if entry and entry.class_name == algorithm.__name__:
        return module
    return own_name(algorithm, former)


def check_algorithm_class(algorithm: Any) -> None:
    """Raises UsageError unless `algorithm` is a class."""
    if not isinstance(algorithm, type):
        raise UsageError(
            f"algorithm = {described(algorithm)}: expected a name, or a class that is derived from "
            "one of operant.algorithms"
        )


def _importable(make: Callable[..., Any]) -> str:
    """`module:name`, which any process in this folder can import; empty if there is no such name,
    for example for a class that a script or a notebook's cell defines.
    """
    module, name = getattr(make, "__module__", ""), getattr(make, "__qualname__", "")
    if not module or module == "__main__" or not name.isidentifier():
        return ""
    if getattr(sys.modules.get(module), name, None) is not make:
        return ""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    beside_script = os.path.dirname(os.path.abspath(script)) if script else ""
    places = [os.getcwd(), *(place for place in sys.path if place and place != beside_script)]
    top = module.partition(".")[0]
    if importlib.machinery.PathFinder.find_spec(top, places) is None:
        return ""
    with contextlib.suppress(UsageError):  # a module with the name of one of Python's
        check_module(module)
        return f"{module}:{name}"
    return ""
