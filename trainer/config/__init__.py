"""What a run can be told, and reading it from files and the command line."""

from __future__ import annotations

from .section import AlgorithmSection, EnvSection, Section
from .tables import EvaluationConfig, PolicyConfig, RecorderConfig
from .train_config import TrainConfig

__all__ = [
    "AlgorithmSection",
    "EnvSection",
    "EvaluationConfig",
    "PolicyConfig",
    "RecorderConfig",
    "Section",
    "TrainConfig",
]
