"""wandb's submodules: `from operant.integration.sb3 import WandbCallback` and the like give what
attributes of the same path give.
"""

from __future__ import annotations

import functools
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .accepted import Accepted
from .wandb_module import attribute

SUBMODULES = frozenset(
    (
        "agents", "apis", "beta", "catboost", "data_types", "env", "errors", "fastai",
        "integration", "keras", "lightgbm", "plot", "plots", "proto", "sdk", "sklearn", "sync",
        "tensorboard", "util", "wandb_agent", "wandb_run", "xgboost",
    )
)  # fmt: skip


def submodule_spec(fullname: str) -> ModuleSpec | None:
    """Of `operant.integration.sb3` and the like; None for what wandb has not."""
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
