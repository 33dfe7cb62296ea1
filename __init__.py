"""operant: a reinforcement-learning trainer, a monitor, and the memory between them.

`train`, `load`, `evaluate`, `runs`, `show`, `push`, `pull` and `Run` are operant from Python. For
your own training loop: `init`, `log` and `finish`; `operant.wandb` in place of wandb;
`operant.integrations` for Stable-Baselines3, Lightning, Hugging Face's Trainer and TensorBoard.
"""

from __future__ import annotations

import importlib
import importlib.util
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
    from . import envs as envs
    from . import errors as errors
    from . import integrations as integrations
    from . import testing as testing
    from . import wandb as wandb
    from .api.policies import Policy, evaluate, load
    from .api.runs import Run, runs
    from .api.sharing import pull, push
    from .api.showing import show
    from .api.training import train
    from .shared.errors import OperantError, RunNotFoundError, UsageError
    from .trainer.returns.episodes import Evaluation
    from .trainer.running.callbacks import Callback, LiveRun
    from .wandb import Histogram, Image, Table, Video, finish, init, log

__all__ = [
    "Callback",
    "Evaluation",
    "Histogram",
    "Image",
    "LiveRun",
    "OperantError",
    "Policy",
    "Run",
    "RunNotFoundError",
    "Table",
    "UsageError",
    "Video",
    "evaluate",
    "finish",
    "init",
    "load",
    "log",
    "pull",
    "push",
    "runs",
    "show",
    "train",
]

# The public names by the module that defines them.
_PUBLIC = {
    "api.policies": ("Policy", "evaluate", "load"),
    "api.runs": ("Run", "runs"),
    "api.sharing": ("pull", "push"),
    "api.showing": ("show",),
    "api.training": ("train",),
    "shared.errors": ("OperantError", "RunNotFoundError", "UsageError"),
    "trainer.returns.episodes": ("Evaluation",),
    "trainer.running.callbacks": ("Callback", "LiveRun"),
    "wandb": ("Histogram", "Image", "Table", "Video", "finish", "init", "log"),
}
_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}
# The public modules, which need no import of their own.
_MODULES = ("algorithms", "envs", "errors", "integrations", "testing", "wandb")
# What to write for the public names of 0.3 that are gone. It goes with 0.5.
_SINCE_0_3 = {
    "CheckpointError": "operant.errors.CheckpointError",
    "ConfigError": "operant.errors.ConfigError",
    "MetricsReader": "operant.Run(run).page()",
    "MetricsWriter": "operant.init and operant.log",
    "OperantCallback": "operant.integrations.SB3Callback",
    "OperantLogger": "operant.integrations.LightningLogger",
    "OperantTrainerCallback": "operant.integrations.TrainerCallback",
    "PageError": "operant.errors.PageError",
    "ProgressBar": "train(..., progress=True)",
    "RecordVideo": "train(..., episodes={'every_env_steps': N}) and operant play FILE -o FILE.gif",
    "SaveBest": "train(..., checkpoint={'best': METRIC})",
    "StopAtReturn": "train(..., stop={'at_return': RETURN})",
    "StopWithoutImprovement": "train(..., stop={'patience': EVALUATIONS})",
    "SummaryWriter": "operant.integrations.SummaryWriter",
    "history": "operant.Run(run).history()",
    **{
        name: f"operant.wandb.{name}"
        for name in (
            "AlertLevel", "Artifact", "alert", "config", "define_metric", "run", "save", "summary",
            "watch",
        )
    },
}  # fmt: skip


def _attribute(name: str) -> Any:
    """The public names, each imported at its first use: `operant --help` needs none of them.
    Raises AttributeError for others, with what to write instead.
    """
    if name in _HOMES:
        from .shared.processes.interrupts import interrupts_held

        with interrupts_held():
            found = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = found  # a loop calls `log` at every step
        return found
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name == "__version__":
        from .shared.runs.provenance import version_of

        return version_of("operant-rl") or "0"
    from .shared.errors import nearest

    hint = nearest(name, (*__all__, *_MODULES))
    if name in _SINCE_0_3:
        hint = f": write {_SINCE_0_3[name]}"
    raise AttributeError(f"operant has no '{name}'{hint}")


if not TYPE_CHECKING:  # which finds misspelt names then
    __getattr__ = _attribute


def __dir__() -> list[str]:
    """The public names and Python's special names."""
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
