"""The kernels in Numba's CUDA simulator; `test_simulator.py` runs this in a process of its own.

Blocks have an odd number of threads, so that the last one is not full. Blocks and threads run in
random order.
"""

from __future__ import annotations

import kernel_checks
import kernel_threads
import pytest
import replay_checks
import torch

from operant.trainer.envs.names import ENV_NAMES
from operant.trainer.jit.kernel import IN_SIMULATOR, Kernel
from operant.trainer.machine.stopwatch import Stopwatch


def append_one(i, arguments):
    order, count = arguments
    order[count[0]] = i
    count[0] += 1


@pytest.fixture(autouse=True, params=[5])
def block_size(request, monkeypatch):
    kernel_threads.block_size(monkeypatch, request.param)


@pytest.mark.parametrize("block_size", [1, 7, 32], indirect=True)
def test_this_is_the_simulator_and_threads_run_in_random_order(block_size):
    assert IN_SIMULATOR
    order = torch.full((40,), -1)
    Kernel(append_one, "test").launch(40, order, torch.zeros(1, dtype=torch.int64))
    assert sorted(order.tolist()) == list(range(40))
    assert order.tolist() != list(range(40))


@pytest.mark.parametrize("name", ENV_NAMES)
def test_every_step_is_that_of_the_processor(name):
    kernel_checks.check_every_step(name, "cpu")


def test_every_step_of_vessels_is_that_of_the_processor():
    kernel_checks.check_every_step("marine_nav", "cpu", num_envs=3, steps=8)


@pytest.mark.parametrize("name", ENV_NAMES)
def test_many_steps_in_one_launch_are_those_steps_one_by_one(name):
    kernel_checks.check_many_steps(name, "cpu")


@pytest.mark.parametrize(
    ("normalize", "block_size"), [("true", 1), ("false", 3), ("true", 7)], indirect=["block_size"]
)
def test_the_fused_rollout_is_the_one_gathered_step_by_step(make_cuda_experiment, normalize):
    overrides = [f"normalization.obs={normalize}", "policy.hidden_sizes=[6, 5]", "num_envs=3"]
    overrides += ["rollout_steps=8", "ppo.num_minibatches=1"]
    kernel_checks.check_fused(make_cuda_experiment, overrides)


@pytest.mark.parametrize("is_prioritised", [False, True])
def test_a_replay_draws_what_the_processor_draws(is_prioritised):
    replay_checks.check_same_as_processor("cpu", is_prioritised, size=12)


def test_a_replay_of_stacked_frames_draws_what_the_processor_draws():
    replay_checks.check_same_as_processor("cpu", False, size=6, stack=3)


@pytest.mark.parametrize("algorithm", ["ppo", "pqn"])
def test_an_iteration_runs_in_the_simulator(make_cuda_experiment, algorithm):
    experiment = make_cuda_experiment(
        "num_envs=4", "rollout_steps=4", "policy.hidden_sizes=[6]", f"algorithm={algorithm}"
    )
    (values,) = experiment.iterate(Stopwatch(), wait=True)
    assert values["loss/value"] > 0
    assert experiment.iteration == 1
