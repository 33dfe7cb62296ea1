"""Where a run's environments and policy live."""

from __future__ import annotations

import importlib.util

import torch

from ..shared.errors import ConfigError


def chosen_device(wanted: str) -> torch.device:
    """The device that `auto`, `cpu` or `cuda` stands for on this machine.

    `auto` is the GPU where PyTorch sees one and its kernels can be compiled. Raises ConfigError
    where `cuda` is asked for and cannot be had.
    """
    missing = why_no_cuda() if wanted != "cpu" else ""
    if wanted == "cuda" and missing:
        raise ConfigError(f"device = cuda: {missing}; device = cpu works everywhere")
    return torch.device("cpu" if wanted == "cpu" or missing else "cuda")


def why_no_cuda() -> str:
    """What is missing to train on a GPU; empty where nothing is."""
    if not torch.cuda.is_available():
        if torch.version.cuda is None:
            return f"this PyTorch, {torch.__version__}, was built without CUDA"
        return "PyTorch sees no GPU on this machine"
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed; pip install 'operant-rl[cuda]'"
    return ""


def device_name(device: torch.device) -> str:
    """For people: `cpu`, or `cuda (NVIDIA H200)`."""
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    return device.type
