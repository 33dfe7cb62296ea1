"""Python runs this first where this folder is on PYTHONPATH: every process then has emulated GPUs.

Nothing is imported that the program does not import itself: what has to be done is done as soon as
it imports PyTorch, or operant's kernels.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.append(str(Path(__file__).parents[2]))

os.environ.setdefault("NULL_GPUS", "2")  # so that ranks have one each
# A backward pass runs in a thread of PyTorch's own and its replay in the caller's. With several
# threads each, products are cut in other places there, and round otherwise.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"


def before_torch() -> None:
    """Load the null libraries: PyTorch's then find these under the names that they ask for."""
    import ctypes

    from emulated_gpu.null_runtime.build import null_libraries

    for library in null_libraries():
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def after_torch(module: ModuleType) -> None:
    importlib.import_module("emulated_gpu.emulation")  # which replaces the kernels


def after_kernels(module: ModuleType) -> None:
    from emulated_gpu import kernels

    kernels.install(module)


AFTER: dict[str, Callable[[ModuleType], None]] = {
    "torch": after_torch,
    "operant.trainer.jit.kernel": after_kernels,
}


class _Around(Loader):
    """Loads a module as `loader` does, with something done before and after."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader, self._name = loader, name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if self._name == "torch":
            before_torch()
        created: ModuleType | None = self._loader.create_module(spec)
        return created

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        AFTER[self._name](module)

    def __getattr__(self, name: str) -> Any:  # what else is asked of loaders: source, files
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in AFTER:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Around(spec.loader, name)
        return spec


sys.meta_path.insert(0, _Finder())
