"""How policies learn: a module for each algorithm, with its loss and its update, in torch.

Their settings are in `config/sections/`, which does not import torch. A new algorithm is a module
here, a section there, and a line in the table `ALGORITHMS` there; docs/changing.md shows how.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..config.own_algorithms import own_algorithm
from ..config.sections import ALGORITHMS
from ..settings.own_code import is_own


def algorithm_class(name: str) -> Any:
    """The class of an algorithm, a subclass of `Algorithm`. Raises ConfigError if a user's class
    cannot be imported.
    """
    if is_own(name):
        return own_algorithm(name)
    return getattr(importlib.import_module(f".{name}", __name__), ALGORITHMS[name].class_name)
