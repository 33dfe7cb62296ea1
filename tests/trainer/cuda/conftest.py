"""The parts that live on a GPU, on the processor and without graphs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from operant.trainer.experiment import Experiment
from operant.trainer.making import device_experiment


@pytest.fixture
def make_cuda_experiment(small_config) -> Callable[..., Experiment]:
    """Experiments of small configurations on the processor."""

    torch.set_num_threads(1)  # more only wait for each other over work this small

    def make(*overrides: str) -> Experiment:
        return device_experiment(small_config(*overrides), torch.device("cpu"))

    return make
