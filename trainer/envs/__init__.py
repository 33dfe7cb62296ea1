"""Environments: one file each, and the vector environment that steps thousands of them.

A new environment is a file here that ends in its `SPEC`, and its name below.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .spec import EnvSpec

ENV_NAMES = ("cart_pole",)
LEARNED_ENV_NAMES = ("tinyphysics",)  # whose steps are calls of a model


def load_spec(name: str) -> EnvSpec:
    """What `VectorEnv` needs to know about the environment `name`, one of `ENV_NAMES`."""
    spec: EnvSpec = importlib.import_module(f".{name}", __name__).SPEC
    return spec
