"""Loggers and callbacks that publish what other libraries log: Stable-Baselines3, Lightning,
Hugging Face's Trainer and TensorBoard's SummaryWriter.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .shared.integrations.huggingface import TrainerCallback
    from .shared.integrations.lightning import LightningLogger
    from .shared.integrations.sb3 import SB3Callback
    from .shared.integrations.summary_writer import SummaryWriter

__all__ = ["LightningLogger", "SB3Callback", "SummaryWriter", "TrainerCallback"]

# The module of each name, and the libraries that it needs, any of them.
_HOMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "LightningLogger": ("lightning", ("lightning", "pytorch_lightning")),
    "SB3Callback": ("sb3", ("stable_baselines3",)),
    "SummaryWriter": ("summary_writer", ()),
    "TrainerCallback": ("huggingface", ("transformers",)),
}


def _attribute(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"operant.integrations has no '{name}'")
    module = importlib.import_module(f".shared.integrations.{_HOMES[name][0]}", __package__)
    return getattr(module, name)


if not TYPE_CHECKING:  # which finds misspelt names then
    __getattr__ = _attribute


def __dir__() -> list[str]:
    """The names whose libraries are installed: completions look at each."""
    return [
        name for name, (_, libraries) in _HOMES.items()
        if not libraries or any(map(importlib.util.find_spec, libraries))
    ]  # fmt: skip
