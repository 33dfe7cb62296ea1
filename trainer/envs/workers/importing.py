"""Modules of the user's own, by the paths that a configuration has."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from ....shared.errors import ConfigError, NotHereError
from ....shared.harmless import one_line

MOST_SAID = 200  # characters


def import_from_here(module: str) -> ModuleType:
    """The module, which may lie in the current folder: that is then where imports look first, as
    with `python -m`. Raises ImportError where there is none, and ConfigError where it fails.
    """
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ImportError:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's module does as it is imported
        said = one_line(f"{type(error).__name__}: {error}", MOST_SAID)
        raise ConfigError(f"importing {module} fails: {said}") from None


def imported(path: str) -> Any:
    """The function or class that `module:name` leads to. Raises ConfigError where there is no such
    thing.
    """
    module, colon, name = path.rpartition(":")
    if not (colon and module and name):
        raise ConfigError(f"'{path}' is no path: write module:function")
    try:
        found = import_from_here(module)
    except ModuleNotFoundError as error:
        raise NotHereError(
            f"'{path}': no module is called '{error.name}', here or installed"
        ) from None
    if not hasattr(found, name):
        raise ConfigError(f"'{path}': the module has no {name}")
    made = getattr(found, name)
    if not callable(made):
        raise ConfigError(f"'{path}': {name} is no function, but {one_line(repr(made), 60)}")
    return made
