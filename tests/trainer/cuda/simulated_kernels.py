"""The kernels in Numba's CUDA simulator; `test_simulator.py` runs this in a process of its own."""

from __future__ import annotations

import kernel_checks
import pytest

from operant.trainer.cuda.kernel import IN_SIMULATOR
from operant.trainer.envs import ENV_NAMES


def test_this_is_the_simulator():
    assert IN_SIMULATOR


@pytest.mark.parametrize("name", ENV_NAMES)
def test_every_step_is_that_of_the_processor(name):
    kernel_checks.check_every_step(name, "cpu")


@pytest.mark.parametrize("name", ENV_NAMES)
def test_many_steps_in_one_launch_are_those_steps_one_by_one(name):
    kernel_checks.check_many_steps(name, "cpu")
