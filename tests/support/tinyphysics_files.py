"""Small files of the challenge's formats: a random model of its interface, and made-up routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write_route(path: Path, num_rows: int = 560, seed: int = 0) -> Path:
    """A route of slow random curves."""
    random = np.random.default_rng(seed)
    t = np.arange(num_rows) * 0.1
    a, b, c = random.uniform(0, 6.3, 3)
    target = 0.8 * np.sin(0.3 * t + a) + 0.3 * np.sin(0.9 * t + b)
    rows = np.stack(
        [t, 20 + 3 * np.sin(0.1 * t + c), 0.3 * np.cos(0.1 * t + c), 0.03 * np.sin(0.05 * t + a),
         target, -0.4 * target], 1,
    )  # fmt: skip
    names = "t,vEgo,aEgo,roll,targetLateralAcceleration,steerCommand"
    np.savetxt(path, rows, delimiter=",", header=names, comments="", fmt="%.9g")
    return path


def write_routes(folder: Path, num_routes: int, **options: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(num_routes):
        write_route(folder / f"{number:05d}.csv", seed=number, **options)
    return folder


def write_model(path: Path, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(transformer(**options), path)
    return path


def transformer(
    width: int = 16,
    num_heads: int = 2,
    num_blocks: int = 2,
    seed: int = 0,
    bias: bool = False,
    activation: str = "Tanh",
    vocabulary: int = 1024,
    context: int = 20,
) -> onnx.ModelProto:
    """A random pre-norm transformer of the challenge's interface, as PyTorch exports them."""
    graph = _Graph(np.random.default_rng(seed))
    half = width // 2
    states = graph.linear("states", 4, half, True)
    looked_up = graph.add("Gather", graph.weight(vocabulary, half, scale=1.0), "tokens")
    x = graph.add("Concat", states, looked_up, axis=-1)
    x = graph.add("Add", x, graph.weight(context, width))
    hidden = np.tril(np.ones((1, 1, context, context), bool))
    mask = graph.constant(~hidden)
    for _ in range(num_blocks):
        x = _attention(graph, x, width, num_heads, mask, bias, context)
        normed = graph.norm(x, width)
        up = graph.linear(normed, width, 4 * width, bias)
        grown = graph.gelu(up) if activation == "Tanh" else graph.add(activation, up)
        x = graph.add("Add", x, graph.linear(grown, 4 * width, width, bias))
    output = graph.linear(graph.norm(x, width), width, vocabulary, False, scale=2.0)
    graph.nodes.append(helper.make_node("Identity", [output], ["output"]))
    made = helper.make_graph(
        graph.nodes, "random",
        [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["b", context, 4]),
         helper.make_tensor_value_info("tokens", TensorProto.INT64, ["b", context])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["b", context, vocabulary])],
        graph.initializers,
    )  # fmt: skip
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 14)], ir_version=7)


def _attention(
    graph: _Graph, x: str, width: int, num_heads: int, mask: str, bias: bool, context: int
) -> str:
    qkv = graph.linear(graph.norm(x, width), width, 3 * width, bias)
    sizes = graph.constant(np.array([width] * 3))
    parts = graph.add("Split", qkv, sizes, num_outputs=3, axis=2)
    shape = graph.constant(np.array([-1, context, num_heads, width // num_heads]))
    q, k, v = (graph.add("Reshape", part, shape) for part in parts)
    q, v = (graph.add("Transpose", y, perm=[0, 2, 1, 3]) for y in (q, v))
    k = graph.add("Transpose", k, perm=[0, 2, 3, 1])
    scale = graph.constant(np.float32((width // num_heads) ** -0.5))
    scores = graph.add("Mul", graph.add("MatMul", q, k), scale)
    masked = graph.add("Where", mask, graph.constant(np.float32(-np.inf)), scores)
    mixed = graph.add("MatMul", graph.add("Softmax", masked, axis=-1), v)
    mixed = graph.add("Transpose", mixed, perm=[0, 2, 1, 3])
    merged = graph.add("Reshape", mixed, graph.constant(np.array([-1, context, width])))
    return graph.add("Add", x, graph.linear(merged, width, width, bias))


class _Graph:
    def __init__(self, random: np.random.Generator) -> None:
        self.random, self.nodes, self.initializers = random, [], []

    def add(self, kind: str, *inputs: str, num_outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(num_outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if num_outputs == 1 else names

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        scale = shape[0] ** -0.5 if scale is None else scale
        return self.constant((scale * self.random.normal(size=shape)).astype(np.float32))

    def linear(self, x: str, inputs: int, outputs: int, bias: bool, scale: float = 1.0) -> str:
        product = self.add("MatMul", x, self.weight(inputs, outputs, scale=scale * inputs**-0.5))
        return self.add("Add", self.weight(outputs), product) if bias else product

    def norm(self, x: str, width: int) -> str:
        two, epsilon = self.constant(np.float32(2)), self.constant(np.float32(1e-5))
        centred = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", centred, two), axes=[-1])
        deviation = self.add("Sqrt", self.add("Add", variance, epsilon))
        divided = self.add("Div", centred, deviation)
        scaled = self.add("Mul", divided, self.weight(width, scale=1.0))
        return self.add("Add", scaled, self.weight(width))

    def gelu(self, x: str) -> str:
        """The tanh form, in the nodes that PyTorch writes."""
        c = [self.constant(np.float32(v)) for v in (0.044715, (2 / np.pi) ** 0.5, 1.0, 0.5)]
        cube = self.add("Mul", x, self.add("Mul", x, x))
        inner = self.add("Mul", c[1], self.add("Add", x, self.add("Mul", c[0], cube)))
        outer = self.add("Add", c[2], self.add("Tanh", inner))
        return self.add("Mul", c[3], self.add("Mul", x, outer))
