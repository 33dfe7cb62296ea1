"""One distribution of each kind, and actions drawn from it."""

from __future__ import annotations

import torch

from operant.trainer.policies.distributions.beta import Beta
from operant.trainer.policies.distributions.categorical import Categorical, MultiCategorical
from operant.trainer.policies.distributions.gaussian import Gaussian, SquashedGaussian
from operant.trainer.spaces import Box, Discrete, MultiDiscrete

BOX = Box(low=(-2.0, 0.0), high=(2.0, 0.5))
CATEGORICAL = Categorical(Discrete(3))
MULTI = MultiCategorical(MultiDiscrete((3, 2)))
GAUSSIAN, SQUASHED, BETA = Gaussian(BOX), SquashedGaussian(BOX), Beta(BOX)
OF_BOXES = {"gaussian": GAUSSIAN, "squashed_gaussian": SQUASHED, "beta": BETA}
ALL = {"categorical": CATEGORICAL, "multi_categorical": MULTI, **OF_BOXES}
COUNT = 200_000


def random_outputs(distribution, rows, seed=1, spread=1.0):
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(rows, distribution.num_outputs, generator=generator)


def drawn(distribution, outputs, count, seed=1):
    """`count` actions from one row of outputs."""
    noise = distribution.noise((count,), torch.Generator().manual_seed(seed))
    return distribution.sample(outputs.expand(count, -1), noise)
