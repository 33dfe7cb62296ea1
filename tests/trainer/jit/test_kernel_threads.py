"""Threads of a kernel stay within their arrays and do not race, in whatever order they run."""

from __future__ import annotations

import kernel_checks
import kernel_threads
import pytest
import replay_checks
import torch

from operant.trainer.envs.names import ENV_NAMES, MINATAR_ENV_NAMES
from operant.trainer.jit.kernel import Kernel
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.policies.draws_on_gpu import CountedDraws, CountedOrders


def write_beside_one(i, arguments):
    (array,) = arguments
    array[i + 1] = i


def read_beside_one(i, arguments):
    (array,) = arguments
    array[i] = array[0] + 1


def write_first_one(i, arguments):
    (array,) = arguments
    array[0] = i


@pytest.fixture
def launches(monkeypatch) -> kernel_threads.Launches:
    return kernel_threads.watch(monkeypatch)


@pytest.mark.parametrize(
    ("function", "error"),
    [(write_beside_one, "touches 8"), (read_beside_one, "race"), (write_first_one, "race")],
)
def test_a_thread_that_leaves_its_array_or_races_is_found(launches, function, error):
    with pytest.raises(kernel_threads.AccessError, match=error):
        Kernel(function, "test").launch(8, torch.zeros(8))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ENV_NAMES, *MINATAR_ENV_NAMES, "cart_pole_no_velocity"])
def test_no_two_environments_touch_the_same_memory(launches, name):
    kernel_checks.check_every_step(name, "cpu", num_envs=5, steps=100)
    kernel_checks.check_many_steps(name, "cpu", num_envs=5, steps=7)
    assert len(launches.count) == 3  # reset, step, many steps


@pytest.mark.slow
@pytest.mark.parametrize(("name", "steps"), [("marine_nav", 8), ("grid", 3)])
def test_no_two_worlds_of_agents_touch_the_same_memory(launches, name, steps):
    kernel_checks.check_every_step(name, "cpu", num_envs=3, steps=steps)
    assert len(launches.count) == 2


def test_threads_of_the_fused_rollout_touch_nothing_in_common(make_cuda_experiment, launches):
    overrides = ["normalization.obs=true", "policy.hidden_sizes=[6, 5]", "num_envs=5"]
    overrides += ["rollout_steps=8", "ppo.num_minibatches=1"]
    kernel_checks.check_fused(make_cuda_experiment, overrides)
    assert [n for label, n in launches.count.items() if label.startswith("collect_one")] == [3]


def test_actors_of_any_distribution_touch_nothing_in_common(
    make_cuda_experiment, any_distribution, launches
):
    overrides = [any_distribution, "num_envs=5", "rollout_steps=6", "ppo.num_minibatches=1"]
    list(make_cuda_experiment(*overrides).iterate(Stopwatch(), wait=True))
    assert any(label.startswith("act_and_step") for label in launches.count)


@pytest.mark.parametrize("stack", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_prioritised", [False, True])
def test_threads_of_a_replay_write_what_is_theirs_or_the_same(launches, is_prioritised, stack):
    replay_checks.check_same_as_processor("cpu", is_prioritised, stack=stack)
    assert len(launches.count) == (14 if is_prioritised else 7)


def test_threads_that_draw_write_what_is_theirs(launches):
    cpu = torch.device("cpu")
    assert CountedDraws("normal", (5, 3), 1, cpu).next().isfinite().all()
    assert sorted(CountedOrders(17, 1, cpu).next(17).tolist()) == list(range(17))
    assert len(launches.count) == 2
