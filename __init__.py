"""operant: a reinforcement-learning trainer, a monitor, and the memory between them.

`train`, `load`, `evaluate`, `history`, `runs`, `show`, `push`, `pull` and `Run` are operant from
Python. For your own training loop: `init`, `log` and `finish` as in wandb,
`SummaryWriter` as in TensorBoard, `OperantCallback` for Stable-Baselines3, `OperantLogger` for
Lightning and `OperantTrainerCallback` for Hugging Face's Trainer.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

if importlib.util.find_spec("fcntl") is None:  # Windows: neither its locks nor a memory it can map
    _REASON = (
        "operant runs on Linux, and untested on macOS; on Windows it runs inside WSL: "
        "https://learn.microsoft.com/windows/wsl/install"
    )
    if "operant" in sys.orig_argv or sys.argv[0].removesuffix(".exe").endswith("operant"):
        sys.stderr.write(f"operant: {_REASON}\n")
        sys.exit(2)
    raise ImportError(_REASON)

if TYPE_CHECKING:
    from . import algorithms as algorithms
    from . import testing as testing
    from .api.callbacks import ProgressBar, RecordVideo
    from .api.policies import Policy, evaluate, load
    from .api.runs import Run, history, runs
    from .api.sharing import pull, push
    from .api.showing import show
    from .api.training import train
    from .shared.errors import (
        CheckpointError,
        ConfigError,
        OperantError,
        PageError,
        RunNotFoundError,
        UsageError,
    )
    from .shared.integrations.artifacts import Artifact
    from .shared.integrations.huggingface import OperantTrainerCallback
    from .shared.integrations.lightning import OperantLogger
    from .shared.integrations.logged_run import AlertLevel
    from .shared.integrations.media import Histogram, Image, Table, Video
    from .shared.integrations.sb3 import OperantCallback
    from .shared.integrations.summary_writer import SummaryWriter
    from .shared.integrations.wandb_shape import (
        alert,
        config,
        define_metric,
        finish,
        init,
        log,
        run,
        save,
        summary,
        watch,
    )
    from .shared.page.reader import MetricsReader
    from .shared.page.writer import MetricsWriter
    from .trainer.running.callbacks import (
        Callback,
        LiveRun,
        SaveBest,
        StopAtReturn,
        StopWithoutImprovement,
    )

__all__ = [
    "AlertLevel",
    "Artifact",
    "Callback",
    "CheckpointError",
    "ConfigError",
    "Histogram",
    "Image",
    "LiveRun",
    "MetricsReader",
    "MetricsWriter",
    "OperantCallback",
    "OperantError",
    "OperantLogger",
    "OperantTrainerCallback",
    "PageError",
    "Policy",
    "ProgressBar",
    "RecordVideo",
    "Run",
    "RunNotFoundError",
    "SaveBest",
    "StopAtReturn",
    "StopWithoutImprovement",
    "SummaryWriter",
    "Table",
    "UsageError",
    "Video",
    "alert",
    "config",
    "define_metric",
    "evaluate",
    "finish",
    "history",
    "init",
    "load",
    "log",
    "pull",
    "push",
    "run",
    "runs",
    "save",
    "show",
    "summary",
    "train",
    "watch",
]

# The public names by the module that defines them. AlertLevel, Artifact and the media are wandb's,
# whose module makes them.
_PUBLIC = {
    "api.callbacks": ("ProgressBar", "RecordVideo"),
    "api.policies": ("Policy", "evaluate", "load"),
    "api.runs": ("Run", "history", "runs"),
    "api.sharing": ("pull", "push"),
    "api.showing": ("show",),
    "api.training": ("train",),
    "shared.errors": (
        "CheckpointError", "ConfigError", "OperantError", "PageError", "RunNotFoundError",
        "UsageError",
    ),
    "shared.integrations.huggingface": ("OperantTrainerCallback",),
    "shared.integrations.lightning": ("OperantLogger",),
    "shared.integrations.sb3": ("OperantCallback",),
    "shared.integrations.summary_writer": ("SummaryWriter",),
    "shared.integrations.wandb_shape": (
        "alert", "config", "define_metric", "finish", "init", "log", "run", "save", "summary",
        "watch",
    ),
    "shared.page.reader": ("MetricsReader",),
    "shared.page.writer": ("MetricsWriter",),
    "trainer.running.callbacks": (
        "Callback", "LiveRun", "SaveBest", "StopAtReturn", "StopWithoutImprovement",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}
# The libraries that public names need, any of them.
_NEEDS = {
    "OperantCallback": ("stable_baselines3",),
    "OperantLogger": ("lightning", "pytorch_lightning"),
    "OperantTrainerCallback": ("transformers",),
}
_MODULES = ("algorithms", "api", "testing")  # that need no import; wandb has an `api` too


def _attribute(name: str) -> Any:
    """The public names, each imported at its first use: `operant --help` needs none of them.

    They are looked up at every use: `run`, `config` and `summary` change with `init`. Other names
    of wandb have stand-ins that do nothing, so that `import operant as wandb` ends no script; a
    name close to a public one raises AttributeError.
    """
    if name in _PUBLIC["shared.integrations.wandb_shape"]:
        return getattr(importlib.import_module(".shared.integrations.wandb_shape", __name__), name)
    if name in _HOMES:
        from .shared.processes.interrupts import interrupts_held

        with interrupts_held():
            return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    # Python looks up submodules here before it imports them, and special names.
    is_asked_by_python = name.startswith("_") and name != "__version__"
    if is_asked_by_python or _is_submodule(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(".shared.integrations.wandb_module", __name__)
    return module.attribute(name)


if not TYPE_CHECKING:  # which finds misspelt names then
    __getattr__ = _attribute


def __dir__() -> list[str]:
    """The public names whose libraries are installed, which completions can then inspect, and
    Python's special names.
    """
    missing = {
        name for name, libraries in _NEEDS.items()
        if not any(map(importlib.util.find_spec, libraries))
    }  # fmt: skip
    return sorted(
        {*__all__, "algorithms", "testing", *(name for name in globals() if name.startswith("__"))}
        - missing
    )


class _WandbSubmodules:
    """The last finder of modules: it finds wandb's submodules that operant lacks."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> Any:
        if not fullname.startswith(f"{__name__}."):
            return None
        from .shared.integrations.wandb_module import submodule_spec

        return submodule_spec(fullname)


sys.meta_path.append(_WandbSubmodules)


def _is_submodule(name: str) -> bool:
    folder = os.path.join(os.path.dirname(__file__), name)
    return os.path.isdir(folder) or os.path.isfile(f"{folder}.py")
