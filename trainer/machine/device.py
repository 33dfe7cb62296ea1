"""The device of a run: GPUs that can be used, their names, and errors of memory."""

from __future__ import annotations

import importlib.util
import re

import torch

from ...shared.install_command import install_command
from ...shared.text.plain_values import text_of


def why_no_cuda() -> str:
    """The reason why no GPU can train; empty if one can."""
    if not torch.cuda.is_available():
        if torch.version.cuda is None:
            return f"this PyTorch, {torch.__version__}, was built without CUDA"
        return "PyTorch sees no GPU on this machine"
    if importlib.util.find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed; {install_command('cuda')}"
    return ""


def num_gpus() -> int:
    """How many of this machine's could be trained on."""
    return 0 if why_no_cuda() else torch.cuda.device_count()


def device_name(device: str) -> str:
    """The name of a device, to show: `cpu`, or `cuda (NVIDIA H200)`."""
    return f"cuda ({torch.cuda.get_device_name()})" if device == "cuda" else device


# Below this a GPU has idle cores, and time steps are the better thing to give up.
FEWEST_ENVS_TO_HALVE = 4096

_BYTES = {
    "bytes": 1,
    **{f"{prefix}iB": 2**power for prefix, power in zip("KMGTPE", range(10, 70, 10), strict=True)},
}
_NOT_PINNED = "CUDA error: out of memory"  # main memory; of its own PyTorch has an exception
_SIZE = re.compile(r"(?:allocate|of which) ([\d.]+) (bytes|[KMGTPE]iB)")  # also NumPy's words


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a GPU or the main memory is full; PyTorch has no exception for the latter."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    texts = ("DefaultCPUAllocator", _NOT_PINNED)
    return isinstance(error, RuntimeError) and any(text in text_of(error) for text in texts)


def out_of_memory_message(error: BaseException, num_envs: int, rollout_steps: int) -> str:
    """One line where memory did not suffice: what to halve, and by how much it missed.

    Empty for every other error.
    """
    if not is_out_of_memory(error):
        return ""
    memory = "GPU" if isinstance(error, torch.cuda.OutOfMemoryError) else "main"
    memory = "pinned main" if _NOT_PINNED in text_of(error) else memory
    key, value = "num_envs", num_envs
    if num_envs < FEWEST_ENVS_TO_HALVE:
        key, value = "rollout_steps", rollout_steps
    return (
        f"out of {memory} memory{_missing(str(error))}; halve {key} = {value}, to {value // 2 or 1}"
    )


def _missing(text: str) -> str:
    """`: 3.70 GiB were asked for, 2.50 GiB more than there were`, as far as that is known."""
    sizes = [float(number) * _BYTES[unit] / 2**30 for number, unit in _SIZE.findall(text)]
    if not sizes:
        return ""
    missed = f", {sizes[0] - sizes[1]:.2f} GiB more than there were" if len(sizes) == 2 else ""
    return f": {sizes[0]:.2f} GiB were asked for{missed}"
