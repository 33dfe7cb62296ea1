"""The kernels in Numba's CUDA simulator; `test_simulator.py` runs this in a process of its own."""

from __future__ import annotations

import kernel_checks
import pytest

from operant.trainer.cuda.kernel import IN_SIMULATOR
from operant.trainer.envs import ENV_NAMES
from operant.trainer.run.stopwatch import Stopwatch


def test_this_is_the_simulator():
    assert IN_SIMULATOR


@pytest.mark.parametrize("name", ENV_NAMES)
def test_every_step_is_that_of_the_processor(name):
    kernel_checks.check_every_step(name, "cpu")


def test_every_step_of_vessels_is_that_of_the_processor():
    kernel_checks.check_every_step("marine_nav", "cpu", num_envs=3, steps=8)


def test_every_step_of_a_grid_world_is_that_of_the_processor():
    kernel_checks.check_every_step("grid", "cpu", num_envs=2, steps=3)


@pytest.mark.parametrize("name", ENV_NAMES)
def test_many_steps_in_one_launch_are_those_steps_one_by_one(name):
    kernel_checks.check_many_steps(name, "cpu")


@pytest.mark.parametrize("normalize", ["true", "false"])
def test_the_fused_rollout_is_the_one_gathered_step_by_step(make_cuda_experiment, normalize):
    overrides = [f"normalization.obs={normalize}", "policy.hidden_sizes=[6, 5]", "num_envs=3"]
    overrides += ["rollout_steps=8", "ppo.num_minibatches=1"]
    kernel_checks.check_fused(make_cuda_experiment, overrides)


@pytest.mark.parametrize("algorithm", ["ppo", "pqn"])
def test_an_iteration_runs_in_the_simulator(make_cuda_experiment, algorithm):
    experiment = make_cuda_experiment(
        "num_envs=4", "rollout_steps=4", "policy.hidden_sizes=[6]", f"algorithm={algorithm}"
    )
    (values,) = experiment.iterate(Stopwatch(), wait=True)
    assert values["loss/value"] > 0
    assert experiment.iteration == 1
