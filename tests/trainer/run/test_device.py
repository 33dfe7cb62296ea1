"""Where a run goes, and what is said when it cannot."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from operant.shared.errors import ConfigError
from operant.trainer.run import device
from operant.trainer.run.device import chosen_device, out_of_memory_message

# As PyTorch words it.
TEXT = (
    "CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacity of 139.72 GiB of "
    "which 512.00 MiB is free. Including non-PyTorch memory, this process has 139.21 GiB memory in "
    "use. Of the allocated memory 138.00 GiB is allocated by PyTorch, and 600.00 MiB is reserved."
)


@pytest.mark.parametrize(
    ("wanted", "missing", "expected"),
    [("auto", "", "cuda"), ("auto", "no GPU", "cpu"), ("cpu", "", "cpu"), ("cuda", "", "cuda")],
)
def test_auto_is_the_gpu_where_there_is_one(monkeypatch, wanted, missing, expected):
    monkeypatch.setattr(device, "why_no_cuda", lambda: missing)
    assert chosen_device(wanted).type == expected


def test_a_gpu_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"device = cuda: .*; device = cpu works everywhere"):
        chosen_device("cuda")


def test_without_the_compiler_for_kernels_auto_is_the_processor(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: None)
    assert chosen_device("auto").type == "cpu"
    with pytest.raises(ConfigError, match="numba-cuda is not installed; pip install"):
        chosen_device("cuda")


def test_out_of_memory_says_what_to_halve_and_by_how_much_it_missed(small_config):
    error = torch.cuda.OutOfMemoryError(TEXT)
    many = small_config("num_envs=65536", "ppo.num_minibatches=1")
    assert out_of_memory_message(error, many) == (
        "out of GPU memory: 3.50 GiB were asked for, 3.00 GiB more than there were; "
        "halve num_envs = 65536, to 32768"
    )
    few = small_config("num_envs=64", "rollout_steps=4096")
    assert out_of_memory_message(torch.cuda.OutOfMemoryError("worded otherwise"), few) == (
        "out of GPU memory; halve rollout_steps = 4096, to 2048"
    )
    assert out_of_memory_message(RuntimeError(TEXT), many) == ""


@pytest.mark.parametrize("allocate", [torch.zeros, np.zeros])
def test_main_memory_that_does_not_suffice_says_what_to_halve(small_config, allocate):
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        allocate((2**20, 2**20, 2**10))
    told = out_of_memory_message(caught.value, small_config("num_envs=65536"))
    assert re.fullmatch(
        r"out of main memory: \d+\.00 GiB were asked for; halve num_envs = 65536, to 32768", told
    )


def test_memory_that_cannot_be_pinned_is_main_memory(small_config):
    error = RuntimeError("CUDA error: out of memory\nSearch for ...")  # as PyTorch has it
    assert out_of_memory_message(error, small_config("num_envs=65536")) == (
        "out of pinned main memory; halve num_envs = 65536, to 32768"
    )
