"""Describe a machine with a GPU, and check that code generated there fits its driver.

    python benchmarks/gpu_machine.py versions | fit

Numba's kernels go this way: libNVVM writes PTX of its own version, nvJitLink makes machine code
of it, and the driver loads that. Each must know what the one before it writes. Without nvJitLink
the driver itself reads the PTX, and takes none that is newer than itself. Prints one JSON.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

PACKAGES = (
    "torch", "triton", "numba", "numba-cuda", "llvmlite", "numpy", "cuda-bindings", "cuda-core",
    "cuda-pathfinder", "cuda-toolkit", "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvcc",
    "nvidia-cuda-nvrtc", "onnx", "onnxruntime", "pandas", "pydantic", "textual", "pytest",
)  # fmt: skip
GPU_FIELDS = (
    "name", "driver_version", "memory.total", "clocks.sm", "clocks.max.sm", "clocks.mem",
    "power.limit", "power.draw", "temperature.gpu", "clocks_event_reasons.active",
)  # fmt: skip
# PTX versions that do not count up with CUDA's minor one; 8.0 to 8.5 and 9.0 on do.
CUDA_OF_PTX = {"8.6": (12, 7), "8.7": (12, 8), "8.8": (12, 9)}
ASSUMED_CAPABILITY = (9, 0)  # where there is no GPU


def cuda_of_ptx(version: str) -> tuple[int, int]:
    """The first CUDA, of a driver or of nvJitLink, that takes PTX of this version, from 8.0 on."""
    major, minor = map(int, version.split("."))
    return CUDA_OF_PTX.get(version, (major + 4, minor))


def versions() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "glibc": platform.libc_ver()[1],
        "packages": {name: version(name) for name in PACKAGES},
        "driver_cuda": attempt(driver_cuda),
        "torch_cuda": attempt(torch_cuda),
        "nvjitlink": attempt(nvjitlink_version),
        "ptxas": attempt(lambda: said("ptxas", "--version").splitlines()[-1]),
        "nvcc": attempt(lambda: said("nvcc", "--version").splitlines()[-1]),
        "gpu": attempt(gpu),
    }  # fmt: skip


def fit() -> dict[str, Any]:
    """Compiles one kernel and runs it; without a GPU it is assembled alone."""
    import numba
    import numpy as np
    from numba import cuda

    has_gpu = cuda.is_available()
    capability = cuda.get_current_device().compute_capability if has_gpu else ASSUMED_CAPABILITY

    def doubled(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] *= 2

    ptx, _ = cuda.compile_ptx(doubled, (numba.float32[::1],), cc=tuple(capability))
    ptx_version = re.search(r"\.version (\S+)", ptx)[1]
    answer = {
        "ptx_version": ptx_version,
        "needs_cuda": cuda_of_ptx(ptx_version),
        "capability": capability,
        "nvvm": attempt(nvvm_path),
        "nvjitlink": attempt(nvjitlink_version),
        "driver_cuda": attempt(driver_cuda),
        "assembled": attempt(lambda: assembled(ptx, tuple(capability))),
        "ran": None,
    }
    if has_gpu:
        values = np.arange(1000, dtype=np.float32)
        there = cuda.to_device(values)
        cuda.jit(doubled)[8, 128](there)
        answer["ran"] = bool((there.copy_to_host() == 2 * values).all())
    return answer


def assembled(ptx: str, capability: tuple[int, int]) -> int:
    """Bytes of machine code that nvJitLink makes of it. Raises with what ptxas says."""
    from cuda.bindings import nvjitlink

    link = nvjitlink.create(1, [f"-arch=sm_{capability[0]}{capability[1]}"])
    data = ptx.encode()
    try:
        nvjitlink.add_data(link, nvjitlink.InputType.PTX, data, len(data), "kernel")
        nvjitlink.complete(link)
    except Exception as error:
        log = bytearray(nvjitlink.get_error_log_size(link))
        nvjitlink.get_error_log(link, log)
        raise RuntimeError(log.decode(errors="replace").strip("\0\n ")) from error
    return int(nvjitlink.get_linked_cubin_size(link))


def nvvm_path() -> str:
    from numba.cuda.cudadrv.libs import get_cudalib

    return str(get_cudalib("nvvm"))


def nvjitlink_version() -> str:
    import torch  # noqa: F401  # loads what it brings, as every run does
    from cuda.bindings import nvjitlink

    return ".".join(map(str, nvjitlink.version()))


def driver_cuda() -> tuple[int, int]:
    """The CUDA that the driver knows."""
    number = ctypes.c_int()
    code = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    if code:
        raise RuntimeError(f"cuDriverGetVersion returned {code}")
    return number.value // 1000, number.value % 1000 // 10


def torch_cuda() -> dict[str, Any]:
    import torch

    found = {"built_for": torch.version.cuda, "sees_a_gpu": torch.cuda.is_available()}
    if found["sees_a_gpu"]:
        properties = torch.cuda.get_device_properties(0)
        found |= {
            "name": properties.name, "capability": [properties.major, properties.minor],
            "multiprocessors": properties.multi_processor_count,
            "memory_bytes": properties.total_memory, "cudnn": torch.backends.cudnn.version(),
        }  # fmt: skip
    return found


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def gpu() -> dict[str, str]:
    query = f"--query-gpu={','.join(GPU_FIELDS)}"
    line = said("nvidia-smi", query, "--format=csv,noheader").splitlines()[0]
    return dict(zip(GPU_FIELDS, map(str.strip, line.split(",")), strict=False))


def said(*command: str) -> str:
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(f"no {command[0]} on the PATH")
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=True
    ).stdout.strip()


def attempt(get: Callable[[], Any]) -> Any:
    """The result of `get`, or the error that it raised."""
    try:
        return get()
    except Exception as error:
        return {"absent": f"{type(error).__name__}: {error}"[:500]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", choices=("versions", "fit"))
    print(json.dumps({"versions": versions, "fit": fit}[parser.parse_args().question]()))
