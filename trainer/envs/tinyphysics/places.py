"""Where the model and the routes lie, unless someone says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

VARIABLE = "OPERANT_TINYPHYSICS"
MODEL_NAME = "tinyphysics.onnx"
ROUTES_NAME = "data"


def home() -> Path:
    """$OPERANT_TINYPHYSICS, or a folder among the user's data."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("operant") / "tinyphysics"


def model_path(given: str | Path | None = None) -> Path:
    return Path(given) if given else home() / MODEL_NAME


def routes_folder(given: str | Path | None = None) -> Path:
    return Path(given) if given else home() / ROUTES_NAME
