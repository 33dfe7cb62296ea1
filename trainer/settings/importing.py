"""Modules of the user's own, by the paths that a configuration has.

Every import of a module that a configuration names goes through `import_from_here`, in the trainer
and in its workers. Whether the configuration of a stored run may name code at all is decided
before, in `trainer/config/stored_code.py`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from ...shared.errors import ConfigError, NotHereError
from ...shared.install_command import install_command
from ...shared.runs.run_folder import memory_runs_folder, runs_folder
from ...shared.runs.sweep_folder import sweeps_folder
from ...shared.text.harmless import one_line
from ...shared.text.plain_values import described_error

EXTRAS = "gymnasium", "mujoco", "pettingzoo"  # of operant, each named like its module


def import_from_here(module: str) -> ModuleType:
    """The module, which may lie in the current folder: that is then where imports look first, as
    with `python -m`. Raises ModuleNotFoundError where there is none, and ConfigError where it fails
    or may not be imported.
    """
    check_module(module)
    here = _current_folder()
    if here and here not in sys.path and "" not in sys.path and not _closed_folder_of(here):
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise
    except (Exception, SystemExit) as error:  # whatever a user's module does as it is imported
        raise ConfigError(f"importing {module} fails: {described_error(error)}") from error


def check_module(module: str) -> None:
    """Raises ConfigError for a module that no configuration may name: Python's own, and those below
    a folder of runs or sweeps, whoever asks for it.
    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == "__main__":
        raise ConfigError(
            f"{one_line(module, 60)} is a module of Python's standard library, which no "
            "setting may name; rename yours if it has that name"
        )
    check_places(f"module {one_line(module, 60)}", places_of(module))


def check_places(what: str, places: Iterable[str]) -> None:
    """Raises ConfigError where `what` has a file below a folder of runs or sweeps."""
    for place in places:
        if folder := _closed_folder_of(place):
            raise ConfigError(
                f"{what} is {one_line(place, 200)}, below the "
                f"{folder.name.partition('-')[0]} folder {folder}: nothing is imported from there"
            )


def places_of(module: str) -> list[str]:
    """The files that importing `module` would run, its own last, and folders for packages without
    one. Nothing is imported to find them. Empty where there is no such module.
    """
    if module in sys.modules:
        known = sys.modules[module]
        file = getattr(known, "__file__", None)
        return [file] if file else [*getattr(known, "__path__", ())]
    path: Sequence[str] | None = [*filter(None, [_current_folder()]), *sys.path]
    places: list[str] = []
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        spec = _spec_of(".".join(parts[:end]), path) if path is not None else None
        if spec is None:
            return []
        path = spec.submodule_search_locations
        places += [spec.origin] if spec.origin else list(path or ())
    return places


def _spec_of(name: str, path: Sequence[str]) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find: Any = getattr(finder, "find_spec", None)
        if find and (spec := find(name, path)):
            return spec  # type: ignore[no-any-return]
    return None


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _closed_folder_of(place: str) -> Path | None:
    """The folder of runs or sweeps that `place` is in, by its name or by where its links lead."""
    folders = (runs_folder(), memory_runs_folder(), sweeps_folder())
    return next((folder for folder in folders if is_below(place, folder)), None)


def is_below(place: str, folder: Path) -> bool:
    """Whether `place` is in `folder`, by its name or by where its links lead."""
    return any(
        Path(follow(place)).is_relative_to(follow(folder))
        for follow in (os.path.abspath, os.path.realpath)
    )


def imported(key: str, path: str) -> Any:
    """The function or class that the setting `key` names as `module:name`. Raises ConfigError where
    there is no such thing.
    """
    setting = f"{key}: '{path}'"
    module, colon, name = path.rpartition(":")
    if not (colon and module and name):
        raise ConfigError(f"{setting} is not a path: write module:function")
    try:
        found = import_from_here(module)
    except ModuleNotFoundError as error:
        hint = f"; {install_command(error.name)}" if error.name in EXTRAS else ""
        raise NotHereError(
            f"{setting}: no module is called '{error.name}', here or installed{hint}"
        ) from None
    except ConfigError as error:
        raise ConfigError(f"{setting}: {error}") from error.__cause__
    if not hasattr(found, name):
        raise ConfigError(f"{setting}: the module has no {name}")
    made = getattr(found, name)
    if not callable(made):
        raise ConfigError(f"{setting}: {name} is not a function but {one_line(repr(made), 60)}")
    return made
