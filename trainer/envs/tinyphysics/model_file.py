"""Reads the model of the challenge from a file and checks its interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....shared.errors import NotHereError, UsageError
from .architecture import tensor_shapes
from .constants import CONTEXT_STEPS, STATE_SIZE, VOCABULARY_SIZE
from .places import model_path, routes_folder
from .route_cache import route_paths

INPUTS = {"states": (CONTEXT_STEPS, STATE_SIZE), "tokens": (CONTEXT_STEPS,)}
OUTPUT = (CONTEXT_STEPS, VOCABULARY_SIZE)


class ModelError(UsageError):
    """A model cannot be used; the message names the file and the difference."""


def check_files(model: str, routes: str) -> None:
    """Raises UsageError unless there are a model and routes; '' is their default place."""
    read_model(model_path(model))
    route_paths(routes_folder(routes))


def read_model(path: Path) -> Any:
    """The ONNX model at `path`. Raises NotHereError, and ModelError unless it has
    the challenge's interface.

    That is inputs `states` [b, 20, 4] float32 and `tokens` [b, 20] int64, output [b, 20, 1024].
    """
    import onnx

    if not path.is_file():
        raise NotHereError(
            f"no model at {path}; `operant tinyphysics download` gets it; --model or the setting "
            "tinyphysics.model names another file"
        )
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except Exception as error:  # whatever the bytes lead the parser to
        reason = str(error).strip().partition("\n")[0][:200]
        raise ModelError(f"{path} is not an ONNX model: {reason}") from None
    _check_interface(path, model.graph)
    return model


def _check_interface(path: Path, graph: Any) -> None:
    shapes = tensor_shapes(graph)
    constants = {initializer.name for initializer in graph.initializer}
    inputs = {i.name: shapes.get(i.name, ()) for i in graph.input if i.name not in constants}
    expected = "inputs states [b, 20, 4] and tokens [b, 20]"
    if {name: shape[1:] for name, shape in inputs.items()} != INPUTS:
        found = ", ".join(f"{name} {_written(shape)}" for name, shape in inputs.items())
        raise ModelError(f"{path} takes {found}; a TinyPhysics model has {expected}")
    output = shapes.get(graph.output[0].name, ())
    if output[1:] != OUTPUT:
        raise ModelError(
            f"{path} gives {_written(output)}; a TinyPhysics model gives logits [b, 20, 1024], "
            "a vocabulary of 1024 at each of 20 positions"
        )


def _written(shape: tuple[int | str, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"
