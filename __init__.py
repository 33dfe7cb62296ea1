"""operant: a reinforcement-learning trainer, a monitor, and the memory between them.

For a training loop of one's own: `init`, `log` and `finish` as wandb has them, `SummaryWriter` as
TensorBoard has it, `OperantCallback` for Stable-Baselines3 and `OperantLogger` for Lightning.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .shared.integrations.lightning import OperantLogger
    from .shared.integrations.sb3 import OperantCallback
    from .shared.integrations.summary_writer import SummaryWriter
    from .shared.integrations.wandb_shape import (
        AlertLevel,
        Artifact,
        Audio,
        Graph,
        Histogram,
        Html,
        Image,
        Molecule,
        Object3D,
        Plotly,
        Settings,
        Table,
        Video,
        alert,
        config,
        define_metric,
        finish,
        init,
        log,
        login,
        run,
        save,
        summary,
        watch,
    )
    from .shared.reader import MetricsReader
    from .shared.writer import MetricsWriter

__all__ = [
    "AlertLevel",
    "Artifact",
    "Audio",
    "Graph",
    "Histogram",
    "Html",
    "Image",
    "MetricsReader",
    "MetricsWriter",
    "Molecule",
    "Object3D",
    "OperantCallback",
    "OperantLogger",
    "Plotly",
    "Settings",
    "SummaryWriter",
    "Table",
    "Video",
    "alert",
    "config",
    "define_metric",
    "finish",
    "init",
    "log",
    "login",
    "run",
    "save",
    "summary",
    "watch",
]

# Where each public name lives, if not in the shape of wandb.
_HOMES = {
    "MetricsReader": "shared.reader",
    "MetricsWriter": "shared.writer",
    "OperantCallback": "shared.integrations.sb3",
    "OperantLogger": "shared.integrations.lightning",
    "SummaryWriter": "shared.integrations.summary_writer",
}


def __getattr__(name: str) -> Any:
    """The public names, each imported at its first use: `operant --help` needs none of them.

    They are looked up anew each time: `run`, `config` and `summary` change with `init`.
    """
    if name in __all__:
        home = _HOMES.get(name, "shared.integrations.wandb_shape")
        return getattr(importlib.import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
