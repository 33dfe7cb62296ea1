"""The names of wandb's module and its submodules that operant has nowhere else: some with a
meaning, and stand-ins for all others.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from ..errors import OperantError
from .accepted import stand_in
from .artifacts import Artifact
from .logged_run import AlertLevel
from .media import Histogram, Image, Table, Video
from .wandb_shape import of_current

_NAMES: dict[str, Any] = {
    "AlertLevel": AlertLevel,
    "Artifact": Artifact,
    "Histogram": Histogram,
    "Image": Image,
    "Settings": SimpleNamespace,
    "Table": Table,
    "Video": Video,
    "log_artifact": of_current("log_artifact"),
    "log_model": of_current("log_model"),
}
SUBMODULES = frozenset(
    (
        "agents", "apis", "beta", "catboost", "data_types", "env", "errors", "fastai",
        "integration", "keras", "lightgbm", "plot", "plots", "proto", "sdk", "sklearn", "sync",
        "tensorboard", "util", "wandb_agent", "wandb_run", "xgboost",
    )
)  # fmt: skip


def attribute(name: str, module: str = "operant") -> Any:
    """`module.name`, for operant or a submodule of wandb's such as `operant.errors`."""
    if name == "__version__":
        return version()
    if name in _NAMES:
        return _NAMES[name]
    if name.endswith("Error"):  # scripts catch errors of wandb by name
        return OperantError
    if name in SUBMODULES and module == "operant":
        return importlib.import_module(f"operant.{name}")
    return stand_in(module, name, importlib.import_module("operant").__all__)


def version() -> str:
    """The version of operant."""
    try:
        return importlib.metadata.version("operant-rl")
    except importlib.metadata.PackageNotFoundError:
        return "0"


def submodule_spec(fullname: str) -> ModuleSpec | None:
    """The spec of a submodule such as `operant.integration.sb3`; None if wandb has no such one."""
    if fullname.split(".")[1] not in SUBMODULES:
        return None
    return ModuleSpec(fullname, _Loader(), is_package=True)


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__getattr__"] = functools.partial(attribute, module=module.__name__)
