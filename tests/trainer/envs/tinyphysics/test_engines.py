"""Cutting a model, rebuilding it, and choosing who runs it."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import onnxruntime
import pytest
import torch
from tinyphysics_files import transformer, write_model

from operant.shared.errors import UsageError
from operant.trainer.envs.tinyphysics.engines.choosing import make_engine
from operant.trainer.envs.tinyphysics.engines.engine import agreement
from operant.trainer.envs.tinyphysics.engines.onnx_runtime import (
    CUDA,
    TENSORRT,
    OnnxRuntimeDeviceEngine,
)
from operant.trainer.envs.tinyphysics.model_file import read_model

SHAPES = [
    {},
    {"bias": True, "num_blocks": 3},
    {"width": 32, "num_heads": 4, "num_blocks": 1},
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["onnxruntime", "torch"])
def test_engines_agree_with_the_model_and_say_so(name, shape):
    model = transformer(**shape)
    engine = make_engine(model, name, device="cpu")
    stated = agreement(engine, model)
    assert stated.same_tokens_fraction >= 0.99
    assert stated.largest_logit_difference < 1e-3
    assert "tokens as the float32 reference" in str(stated)


@pytest.mark.parametrize("name", ["torch", "auto"])
def test_another_architecture_is_refused(name):
    model = transformer(activation="Relu")
    with pytest.raises(UsageError, match=r"like the public model only: rebuilt, its logits differ"):
        make_engine(model, name, device="cpu")


def test_an_unknown_engine_is_named_with_the_nearest(small_model):
    with pytest.raises(UsageError, match=r"no engine is called 'onnxruntme'.*'onnxruntime'"):
        make_engine(small_model, "onnxruntme")


@pytest.mark.parametrize("provider", [CUDA, TENSORRT])
def test_a_provider_that_is_not_installed_names_its_package(small_model, provider, monkeypatch):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    with pytest.raises(UsageError, match=f"no {provider}; the package onnxruntime-gpu"):
        OnnxRuntimeDeviceEngine(small_model, provider)


def test_a_missing_model_says_how_to_get_it(tmp_path):
    with pytest.raises(UsageError, match=r"no model at .*operant tinyphysics download"):
        read_model(tmp_path / "none.onnx")


def test_a_file_that_is_no_model_is_one_line(tmp_path):
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"not a model")
    with pytest.raises(UsageError, match="is not an ONNX model") as caught:
        read_model(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabulary": 512}, r"gives \[b, 20, 512\].*vocabulary of 1024"),
        ({"context": 10}, r"takes states \[b, 10, 4\]"),
    ],
)
def test_a_model_of_another_interface_is_told_apart(tmp_path, options, message):
    with pytest.raises(UsageError, match=message):
        read_model(write_model(tmp_path / "other.onnx", **options))


class Stream:
    """Stands in for a stream of a GPU: notes whom it waits for. Its handle is not that of none."""

    cuda_stream = 1234

    def __init__(self, name, log):
        self.name, self._log = name, log

    def wait_stream(self, other):
        self._log.append(f"{self.name} waits for {other.name}")


class Session:
    """Stands in for a session of ONNX Runtime: notes when it runs, and answers nothing."""

    def __init__(self, log):
        self._log = log

    def io_binding(self):
        return self

    def bind_input(self, name, *_):
        self._log.append(f"{name} bound")

    def bind_output(self, *_):
        pass

    def get_outputs(self):
        return [SimpleNamespace(name="output")]

    def run_with_iobinding(self, _):
        self._log.append("run")


def test_on_a_gpu_the_model_waits_for_its_inputs_and_the_caller_for_the_model(monkeypatch):
    log = []
    engine = OnnxRuntimeDeviceEngine.__new__(OnnxRuntimeDeviceEngine)
    engine.device, engine._session = torch.device("cpu"), Session(log)
    engine._stream = Stream("model", log)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: Stream("caller", log))
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    kept = lambda self, stream: log.append(f"{len(self)} rows kept for {stream.name}")  # noqa: E731
    monkeypatch.setattr(torch.Tensor, "record_stream", kept)
    engine.logits(torch.zeros(3, 20, 4), torch.zeros(3, 20, dtype=torch.int64))
    assert log == [
        "model waits for caller", "states bound", "tokens bound", "run", "caller waits for model",
        *["3 rows kept for model"] * 3,
    ]  # fmt: skip
    # A handle of 0 would be taken for none, and the model would run on a stream of its own.
    assert engine._place()["user_compute_stream"] == "1234"


@pytest.mark.parametrize("name", ["onnxruntime-cuda", "tensorrt"])
def test_an_engine_of_a_gpu_without_one_is_one_line_and_no_warning(small_model, name, capfd):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError, match=r"needs a GPU|has no \w+ExecutionProvider") as caught:
        make_engine(small_model, name)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
