"""Distributions as compiled loops see them: for one row of the actor's outputs at a time.

Each file is one of `trainer/distributions`, with the same three functions:

- `sample(outputs, row, n, table, seed, step, env, actions, env_actions)` draws an action for this
  env step, writes it to `actions[env]` and, as the environment takes it, to `env_actions[env]`, and
  returns its log-probability;
- `log_prob_and_entropy(outputs, row, n, table, actions, place)` are those of `actions[place]`;
- `backward(outputs, row, n, table, actions, place, by_log_prob, by_entropy, entropy, delta)` writes
  the loss's derivative by the outputs to `delta[row, :n]`, given those by the log-probability of
  `actions[place]` and by the entropy. It comes after `log_prob_and_entropy`, which may leave in
  place of the outputs what it needs.

`outputs[row, :n]` are all outputs, `table` the numbers that the distribution is made with.
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
