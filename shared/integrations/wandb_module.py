"""The names of wandb's module that have no home of their own here: small ones, and stand-ins.

Its submodules as well: `from operant.integration.sb3 import WandbCallback` gives what the attribute
gives.
"""

from __future__ import annotations

import functools
import importlib.metadata
import secrets
import string
import sys
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from ..errors import OperantError, UsageError
from . import logged_run, media, tables, wandb_shape
from .accepted import Accepted
from .artifacts import Artifact
from .wandb_names import MODULE, RUN


class _Errors:
    """`wandb.errors`: whatever is caught from it is caught here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return OperantError if name[0].isupper() else Accepted(f"errors.{name}")

    UsageError = UsageError


class _DataTypes:
    """`wandb.data_types`"""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return attribute(name, Accepted(f"data_types.{name}"))


class _Util:
    """`wandb.util`"""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Accepted(f"util.{name}")

    @staticmethod
    def generate_id(length: int = 8) -> str:
        """Letters and digits at random, for `init(id=...)`."""
        characters = string.ascii_lowercase + string.digits
        return "".join(secrets.choice(characters) for _ in range(length))


def _quietly(*_: Any, **__: Any) -> None:
    """There is no service to set up, and nothing to take down."""


def _said(*strings: Any, **_: Any) -> None:
    print("operant:", *strings, file=sys.stderr)


def _follow_tensorboard(*_: Any, **__: Any) -> None:
    from .tensorboard_events import follow

    follow()


_NAMES: dict[str, Callable[[], Any]] = {
    "Artifact": lambda: Artifact,
    "AlertLevel": lambda: logged_run.AlertLevel,
    "Error": lambda: OperantError,
    "CommError": lambda: OperantError,
    "UsageError": lambda: UsageError,
    "Run": lambda: logged_run.LoggedRun,
    "Settings": lambda: logged_run.Settings,
    "Table": lambda: tables.Table,
    "JoinedTable": lambda: tables.JoinedTable,
    "data_types": _DataTypes,
    "ensure_configured": lambda: _quietly,
    "errors": _Errors,
    "require": lambda: _quietly,
    "setup": lambda: _quietly,
    "teardown": lambda: _quietly,
    "tensorboard": lambda: SimpleNamespace(
        patch=_follow_tensorboard, log=_quietly, unpatch=_quietly
    ),
    "termerror": lambda: _said,
    "termlog": lambda: _said,
    "termsetup": lambda: _quietly,
    "termwarn": lambda: _said,
    "util": _Util,
    **{
        name: lambda name=name: getattr(media, name)  # type: ignore[misc]
        for name in (
            "Audio", "Classes", "Graph", "Histogram", "Html", "Image", "Molecule", "Object3D",
            "Plotly", "Video",
        )
    },
}  # fmt: skip


def attribute(name: str, otherwise: Any = None) -> Any:
    """`operant.<name>` for a name of wandb's module. What is none is `otherwise`; without that it
    raises AttributeError.
    """
    if name == "__version__":
        return version()
    if name in _NAMES:
        return _NAMES[name]()
    if name not in MODULE:
        if otherwise is None:
            raise AttributeError(f"module 'operant' has no attribute '{name}'")
        return otherwise
    if name in RUN and callable(getattr(logged_run.LoggedRun, name, None)):
        return wandb_shape.of_current(name)
    return Accepted(f"operant.{name}")


def version() -> str:
    """operant's own."""
    try:
        return importlib.metadata.version("operant-rl")
    except importlib.metadata.PackageNotFoundError:
        return "0"


SUBMODULES = frozenset(
    (
        "agents", "apis", "beta", "catboost", "data_types", "env", "errors", "fastai",
        "integration", "keras", "lightgbm", "plot", "plots", "proto", "sdk", "sklearn", "sync",
        "tensorboard", "util", "wandb_agent", "wandb_run", "xgboost",
    )
)  # fmt: skip


def submodule_spec(fullname: str) -> ModuleSpec | None:
    """The spec of submodules such as `operant.integration.sb3`; None for submodules that wandb
    lacks.
    """
    if fullname.split(".")[1] not in SUBMODULES:
        return None
    return ModuleSpec(fullname, _Loader(), is_package=True)


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = functools.partial(_attribute, module.__name__)


def _attribute(module: str, name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    _, first, *others = module.split(".")
    found = attribute(first, Accepted(f"operant.{first}"))
    for part in (*others, name):
        found = getattr(found, part, Accepted(f"{module}.{name}"))
    return found
