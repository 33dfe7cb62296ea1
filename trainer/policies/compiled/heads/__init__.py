"""Distributions as compiled loops see them: for one row of the actor's outputs at a time.

Each file is one of `trainer/policies/distributions`, with the three functions that `bindings.py`
declares.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...distributions import Distribution
from ...distributions.beta import Beta
from ...distributions.categorical import Categorical, MultiCategorical
from ...distributions.gaussian import Gaussian, SquashedGaussian
from . import beta, categorical, gaussian, multi_categorical, squashed_gaussian

_MODULES: dict[type, ModuleType] = {
    Categorical: categorical,
    MultiCategorical: multi_categorical,
    Gaussian: gaussian,
    SquashedGaussian: squashed_gaussian,
    Beta: beta,
}


class Head(NamedTuple):
    """The compiled functions of one kind of distribution."""

    label: str
    sample: Callable[..., Any]
    log_prob_and_entropy: Callable[..., Any]
    backward: Callable[..., Any]


def head_of(distribution: Distribution) -> Head:
    module = _MODULES[type(distribution)]
    label = module.__name__.rpartition(".")[2]
    return Head(label, module.sample, module.log_prob_and_entropy, module.backward)


def table_of(distribution: Distribution) -> NDArray[Any]:
    """The `table` that the functions of its head take."""
    if isinstance(distribution, MultiCategorical):
        return np.array(distribution.nvec, np.int64)
    if isinstance(distribution, Gaussian):
        rows = (distribution.center, distribution.scale, distribution.low, distribution.high)
        return torch.stack(rows).cpu().numpy()
    if isinstance(distribution, Beta):
        return torch.stack([distribution.low, distribution.span]).cpu().numpy()
    return np.zeros(0, np.float32)
