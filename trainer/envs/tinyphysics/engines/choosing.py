"""Makes engines by name, or the fastest that works on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from .....shared.errors import UsageError, nearest
from .engine import Engine, probe_inputs
from .onnx_runtime import CUDA, TENSORRT, OnnxRuntimeDeviceEngine, onnx_runtime_engine
from .torch_engine import torch_engine

ENGINE_NAMES = ("auto", "onnxruntime", "onnxruntime-cuda", "tensorrt", "torch")
DEVICE_ENGINES = ("onnxruntime-cuda", "tensorrt")
_TRIALS = 5


def make_engine(
    model: Any,
    name: str = "auto",
    *,
    device: str = "auto",
    num_threads: int = 0,
    batch: int = 64,
) -> Engine:
    """The engine of that name for an ONNX model; `auto` is the fastest here with `batch` episodes.

    `auto` never takes TensorRT, whose half precision has to be asked for. Raises UsageError.
    """
    check_engine_name(name)
    has_cuda = torch.cuda.is_available() and device != "cpu"
    if device == "cuda" and not has_cuda:
        raise UsageError("device 'cuda' is asked for, and PyTorch finds none here")
    if name in DEVICE_ENGINES and device == "cpu":
        raise UsageError(f"engine '{name}' needs a GPU, and device 'cpu' is asked for")
    if name == "onnxruntime" and device == "cuda":
        raise UsageError("engine 'onnxruntime' is on the processor, and device 'cuda' is asked for")
    if name in DEVICE_ENGINES:
        return OnnxRuntimeDeviceEngine(model, CUDA if name == "onnxruntime-cuda" else TENSORRT)
    if name == "onnxruntime":
        return onnx_runtime_engine(model, num_threads)
    place = torch.device("cuda" if has_cuda else "cpu")
    if name == "torch":
        return torch_engine(model, place, num_threads)
    return _fastest(model, place, num_threads, batch)


def check_engine_name(name: str) -> None:
    """Raises UsageError for a name that no engine has."""
    if name not in ENGINE_NAMES:
        raise UsageError(
            f"no engine is called '{name}'{nearest(name, ENGINE_NAMES)}; there are "
            f"{', '.join(ENGINE_NAMES)}"
        )


def _fastest(model: Any, place: torch.device, num_threads: int, batch: int) -> Engine:
    makers: list[Callable[[], Engine]] = [
        lambda: torch_engine(model, place, num_threads),
        lambda: (
            OnnxRuntimeDeviceEngine(model, CUDA)
            if place.type == "cuda"
            else onnx_runtime_engine(model, num_threads)
        ),
    ]
    engines: list[Engine] = []
    reasons: list[str] = []
    for make in makers:
        try:
            engines.append(make())
        except UsageError as error:
            reasons.append(str(error))
    if not engines:
        raise UsageError(f"no engine works here: {'; '.join(dict.fromkeys(reasons))}")
    if len(engines) == 1:
        return engines[0]
    return min(engines, key=lambda engine: _seconds(engine, batch))


def _seconds(engine: Engine, batch: int) -> float:
    """The shortest of a few calls with `batch` episodes, the first not counted."""
    states, tokens = probe_inputs(batch)
    uniforms = torch.rand(batch, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    inputs = [x.to(engine.device) for x in (states, tokens, uniforms)]
    seconds = []
    for _ in range(_TRIALS + 1):
        start = time.perf_counter()
        engine.next_tokens(*inputs).cpu()  # waits for the device
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])
