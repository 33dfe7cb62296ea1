"""Where a run goes, and what is said when it cannot."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from operant.shared.errors import ConfigError
from operant.trainer.config.from_values import make_config
from operant.trainer.envs.hosts import describe
from operant.trainer.experiment.plan import plan, this_machine
from operant.trainer.machine import device
from operant.trainer.machine.device import out_of_memory_message

# As PyTorch words it.
TEXT = (
    "CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 139.72 GiB of "
    "which 512.00 MiB is free. Including non-PyTorch memory, this process has 139.21 GiB memory in "
    "use. Of the allocated memory 138.00 GiB is allocated by PyTorch, and 600.00 MiB is reserved."
)


def refused(*overrides):
    config = make_config({}, overrides)
    with pytest.raises(ConfigError) as caught:
        plan(config, describe(config), this_machine())
    return str(caught.value)


def test_a_gpu_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert re.fullmatch(r"device = cuda: .*; device = cpu works everywhere", refused("device=cuda"))


def test_without_the_compiler_for_kernels_auto_is_the_processor(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: None)
    config = make_config({})
    assert plan(config, describe(config), this_machine()).device == "cpu"
    assert "numba-cuda is not installed; pip install" in refused("device=cuda")


def test_out_of_memory_says_what_to_halve_and_by_how_much_it_missed():
    error = torch.cuda.OutOfMemoryError(TEXT)
    assert out_of_memory_message(error, num_envs=65536, rollout_steps=128) == (
        "out of GPU memory: 3.50 GiB were asked for, 3.00 GiB more than there were; "
        "halve num_envs = 65536, to 32768"
    )
    other = torch.cuda.OutOfMemoryError("worded otherwise")
    assert out_of_memory_message(other, num_envs=64, rollout_steps=4096) == (
        "out of GPU memory; halve rollout_steps = 4096, to 2048"
    )
    assert out_of_memory_message(RuntimeError(TEXT), 65536, 128) == ""


@pytest.mark.parametrize("allocate", [torch.zeros, np.zeros])
def test_main_memory_that_does_not_suffice_says_what_to_halve(allocate):
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        allocate((2**20, 2**20, 2**10))
    told = out_of_memory_message(caught.value, num_envs=65536, rollout_steps=128)
    assert re.fullmatch(
        r"out of main memory: \d+\.00 GiB were asked for; halve num_envs = 65536, to 32768", told
    )


def test_memory_that_cannot_be_pinned_is_main_memory():
    error = RuntimeError("CUDA error: out of memory\nSearch for ...")  # as PyTorch has it
    assert out_of_memory_message(error, num_envs=65536, rollout_steps=128) == (
        "out of pinned main memory; halve num_envs = 65536, to 32768"
    )
