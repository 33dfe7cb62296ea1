"""Tests that need a GPU are skipped on machines without one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import gpu_runs
import pytest
import torch

from operant.trainer.config.files import load_config
from operant.trainer.config.train_config import TrainConfig
from operant.trainer.machine.device import why_no_cuda

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = why_no_cuda()
    for item in items:
        if not item.path.is_relative_to(HERE):
            continue
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
        elif gpu_runs.is_emulated() and item.get_closest_marker("real_gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a real GPU, and this one is emulated"))


@pytest.fixture
def config() -> Callable[..., TrainConfig]:
    """A configuration that solves CartPole in seconds on a GPU, with overrides."""

    def make(*overrides: str) -> TrainConfig:
        sizes = ("num_envs=1024", "rollout_steps=32", "device=cuda")
        return load_config("cart_pole_ppo", [*sizes, *overrides])

    return make


@pytest.fixture
def strict():
    """Anything that waits for the GPU is an error, between `strict()` and the test's end."""
    yield lambda: torch.cuda.set_sync_debug_mode("error")
    torch.cuda.set_sync_debug_mode("default")


@pytest.fixture(autouse=True)
def _every_kernel_is_emulated() -> Iterator[None]:
    """On an emulated GPU one that is launched for real would leave its results unwritten."""
    yield
    if gpu_runs.is_emulated():
        assert gpu_runs.take_launches() == 0
