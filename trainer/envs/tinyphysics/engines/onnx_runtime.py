"""The model in ONNX Runtime: on the processor, and with CUDA or TensorRT on torch's memory."""

from __future__ import annotations

import contextlib
import hashlib
import io
from typing import Any

import numpy as np
import platformdirs
import torch
from numpy.typing import NDArray
from torch import Tensor

from .....shared.errors import UsageError
from .....shared.runs.owners import make_private_folder
from ..architecture import architecture
from ..constants import CONTEXT_STEPS, STATE_SIZE, VOCABULARY_SIZE
from ..tokens import sampled_tokens_on_device
from .engine import DEVICE_BATCH, check_rebuilt
from .onnx_model import last_position
from .processor import ProcessorEngine

PACKAGES = {
    "CUDAExecutionProvider": "onnxruntime-gpu",
    "TensorrtExecutionProvider": "onnxruntime-gpu with tensorrt",
}
TENSORRT, CUDA = "TensorrtExecutionProvider", "CUDAExecutionProvider"


def onnx_runtime_engine(model: Any, num_threads: int = 0) -> ProcessorEngine:
    """The model on the processor, rebuilt for its last position; `num_threads` 0 takes all cores.

    Raises ArchitectureError where the model has another architecture than the public one.
    """
    session = _session(last_position(architecture(model)), ["CPUExecutionProvider"])

    def network(states: Tensor, tokens: Tensor) -> NDArray[Any]:
        inputs = {
            "states": np.ascontiguousarray(states.numpy()),
            "tokens": np.ascontiguousarray(tokens.numpy()),
        }
        output: NDArray[Any] = session.run(None, inputs)[0]
        return output[:, 0]

    engine = ProcessorEngine("onnxruntime", network, num_threads)
    check_rebuilt(model, engine.logits)
    return engine


class OnnxRuntimeDeviceEngine:
    """On a GPU: inputs and outputs are bound to torch's memory, so nothing is copied."""

    def __init__(self, model: Any, provider: str) -> None:
        """`provider` is CUDA or TENSORRT; TensorRT computes in half precision.

        Raises UsageError where this ONNX Runtime lacks it, ArchitectureError where the model has
        another architecture than the public one.
        """
        available = _runtime().get_available_providers()
        if provider not in available:
            raise UsageError(
                f"this ONNX Runtime has no {provider}; the package {PACKAGES[provider]} brings it "
                f"(there are {', '.join(available)})"
            )
        self.name = "tensorrt" if provider == TENSORRT else "onnxruntime-cuda"
        if not torch.cuda.is_available():
            raise UsageError(f"engine '{self.name}' needs a GPU, and PyTorch sees none here")
        self.device = torch.device("cuda", torch.cuda.current_device())
        # ONNX Runtime ignores the default stream, whose handle is 0, and makes its own.
        self._stream = torch.cuda.Stream(self.device)
        rebuilt = last_position(architecture(model))
        providers: list[Any] = [(CUDA, self._place())]
        if provider == TENSORRT:
            providers.insert(0, (TENSORRT, self._tensorrt_options(rebuilt)))
        self._session = _session(rebuilt, providers)
        if provider not in self._session.get_providers():
            raise UsageError(
                f"engine '{self.name}' could not start: ONNX Runtime fell back to "
                f"{self._session.get_providers()[0]}; it finds no CUDA 13 and cuDNN 9"
            )
        if provider == CUDA:  # half precision is further away
            check_rebuilt(model, lambda *x: self.logits(*(y.to(self.device) for y in x)).cpu())

    def logits(self, states: Tensor, tokens: Tensor) -> Tensor:
        logits = torch.empty(len(states), VOCABULARY_SIZE, device=self.device)
        caller = torch.cuda.current_stream(self.device)
        # Inputs are written before the model reads them, logits before the caller does.
        self._stream.wait_stream(caller)
        with torch.cuda.stream(self._stream):
            for start in range(0, len(states), DEVICE_BATCH):
                part = slice(start, start + DEVICE_BATCH)
                inputs = states[part].contiguous(), tokens[part].contiguous()
                self._run(*inputs, logits[part])
        caller.wait_stream(self._stream)
        for tensor in (states, tokens, logits):  # else their memory could be given away too soon
            tensor.record_stream(self._stream)
        return logits

    def next_tokens(self, states: Tensor, tokens: Tensor, uniforms: Tensor) -> Tensor:
        return sampled_tokens_on_device(self.logits(states, tokens), uniforms)

    def _run(self, states: Tensor, tokens: Tensor, logits: Tensor) -> None:
        binding = self._session.io_binding()
        index = self.device.index
        for name, tensor, kind in (("states", states, np.float32), ("tokens", tokens, np.int64)):
            binding.bind_input(name, "cuda", index, kind, tuple(tensor.shape), tensor.data_ptr())
        binding.bind_output(
            self._session.get_outputs()[0].name,
            "cuda",
            index,
            np.float32,
            (len(logits), 1, VOCABULARY_SIZE),
            logits.data_ptr(),
        )
        self._session.run_with_iobinding(binding)

    def _place(self) -> dict[str, Any]:
        # One stream of torch's, so that each waits for the other there and never by the clock.
        stream = self._stream.cuda_stream
        return {"device_id": self.device.index, "user_compute_stream": str(stream)}

    def _tensorrt_options(self, model: Any) -> dict[str, Any]:
        """Half precision, and the engine kept for the next start, by the model's own digest."""
        digest = hashlib.sha256(model.SerializeToString()).hexdigest()[:16]
        cache = platformdirs.user_cache_path("operant") / "tensorrt" / digest
        make_private_folder(cache)  # engines are machine code

        def shapes(batch: int) -> str:
            return f"states:{batch}x{CONTEXT_STEPS}x{STATE_SIZE},tokens:{batch}x{CONTEXT_STEPS}"

        return {
            **self._place(),
            "trt_fp16_enable": True,
            "trt_engine_cache_enable": True,
            "trt_engine_cache_path": str(cache),
            "trt_profile_min_shapes": shapes(1),
            "trt_profile_opt_shapes": shapes(DEVICE_BATCH // 2),
            "trt_profile_max_shapes": shapes(DEVICE_BATCH),
        }


def _session(model: Any, providers: list[Any]) -> Any:
    runtime = _runtime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if CUDA in (str(provider[0]) for provider in providers):
        # Its libraries are PyTorch's; where they are missing, errors say so and not warnings.
        runtime.set_default_logger_severity(4)
        if hasattr(runtime, "preload_dlls"):
            with contextlib.redirect_stdout(io.StringIO()):
                runtime.preload_dlls()
    return runtime.InferenceSession(model.SerializeToString(), options, providers=providers)


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise UsageError(
            "ONNX Runtime is not installed; the package onnxruntime brings it, or choose "
            "--engine torch"
        ) from None
    return onnxruntime
