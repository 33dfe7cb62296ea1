"""The settings of a run, and reading them from files and the command line."""

from __future__ import annotations

from .train_config import TrainConfig

__all__ = ["TrainConfig"]
