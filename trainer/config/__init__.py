"""The settings of a run, and reading them from files and the command line."""

from __future__ import annotations

from .tables import EvaluationConfig
from .train_config import TrainConfig

__all__ = ["EvaluationConfig", "TrainConfig"]
