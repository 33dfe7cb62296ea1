"""The kernels as loops on the processor."""

from __future__ import annotations

import kernel_checks
import pytest

from operant.trainer.envs.names import ENV_NAMES, MINATAR_ENV_NAMES

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [*ENV_NAMES, *MINATAR_ENV_NAMES])
def test_every_step_is_that_of_the_vector_environment(name):
    kernel_checks.check_every_step(name, "cpu", num_envs=64, steps=600)


def test_every_step_of_vessels_and_of_image_recall_is_that_of_the_vector_environment():
    kernel_checks.check_every_step("marine_nav", "cpu", num_envs=8, steps=200)
    kernel_checks.check_every_step("image_recall", "cpu", num_envs=64, steps=100)


@pytest.mark.parametrize("name", [*ENV_NAMES, *MINATAR_ENV_NAMES])
def test_many_steps_in_one_launch_are_those_steps_one_by_one(name):
    kernel_checks.check_many_steps(name, "cpu", num_envs=64, steps=100)
