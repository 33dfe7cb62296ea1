"""The model as an ONNX graph of its last position, built from its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..architecture import EPSILON, Architecture, Block, Linear, Norm
from ..constants import CONTEXT_STEPS, STATE_SIZE, VOCABULARY_SIZE

OPSET = 20  # the first with GELU


def last_position(found: Architecture) -> Any:
    """An ONNX model from states [b, 20, 4] and tokens [b, 20] to logits [b, 1, 1024].

    Everything after the last keys and values is computed for the last position alone.
    """
    from onnx import TensorProto, helper

    graph = _Graph(found)
    output = graph.logits()
    values = (
        ("states", TensorProto.FLOAT, ["b", CONTEXT_STEPS, STATE_SIZE]),
        ("tokens", TensorProto.INT64, ["b", CONTEXT_STEPS]),
        (output, TensorProto.FLOAT, ["b", 1, VOCABULARY_SIZE]),
    )
    *inputs, logits = (helper.make_tensor_value_info(*value) for value in values)
    made = helper.make_graph(graph.nodes, "last_position", inputs, [logits], graph.initializers)
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9)


class _Graph:
    """Nodes and constants, added in the order of computation."""

    def __init__(self, found: Architecture) -> None:
        self._found = found
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._heads = self._constant(np.array([0, 0, found.num_heads, -1], np.int64))
        self._merged = self._constant(np.array([0, 0, -1], np.int64))
        self._scale = self._constant(np.float32((found.width / found.num_heads) ** -0.5))
        future = np.triu(np.full((CONTEXT_STEPS, CONTEXT_STEPS), -np.inf, np.float32), 1)
        self._mask = self._constant(future)
        ends = (-1, np.iinfo(np.int64).max, 1)  # from, to and along which axis
        self._last = [self._constant(np.array([value], np.int64)) for value in ends]

    def logits(self) -> str:
        found = self._found
        state = self._linear("states", found.state_embedding)
        token = self._node("Gather", self._constant(found.token_embedding), "tokens")
        embedded = self._node("Concat", state, token, axis=-1)
        x = self._node("Add", embedded, self._constant(found.position_embedding))
        for block in found.blocks:
            x = self._block(x, block, is_last=block is found.blocks[-1])
        return self._linear(self._norm(x, found.norm), found.head)

    def _block(self, x: str, block: Block, is_last: bool) -> str:
        normed = asking = self._norm(x, block.norm_1)
        if is_last:
            x, asking = (self._node("Slice", y, *self._last) for y in (x, normed))
        parts = zip((asking, normed, normed), _thirds(block.qkv), strict=True)
        queries, keys, values = (self._by_head(self._linear(*part)) for part in parts)
        keys = self._node("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self._node("Mul", self._node("MatMul", queries, keys), self._scale)
        if not is_last:
            scores = self._node("Add", scores, self._mask)
        mixed = self._node("MatMul", self._node("Softmax", scores, axis=-1), values)
        mixed = self._node("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = self._node("Reshape", mixed, self._merged)
        x = self._node("Add", x, self._linear(mixed, block.projection))
        hidden = self._linear(self._norm(x, block.norm_2), block.up)
        kind = "tanh" if self._found.tanh_gelu else "none"
        hidden = self._node("Gelu", hidden, approximate=kind)
        return self._node("Add", x, self._linear(hidden, block.down))

    def _by_head(self, x: str) -> str:
        """[b, t, d] as [b, heads, t, size]."""
        return self._node("Transpose", self._node("Reshape", x, self._heads), perm=[0, 2, 1, 3])

    def _linear(self, x: str, linear: Linear) -> str:
        product = self._node("MatMul", x, self._constant(linear.weight))
        if linear.bias is None:
            return product
        return self._node("Add", product, self._constant(linear.bias))

    def _norm(self, x: str, norm: Norm) -> str:
        weights = self._constant(norm.scale), self._constant(norm.shift)
        return self._node("LayerNormalization", x, *weights, axis=-1, epsilon=EPSILON)

    def _node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def _constant(self, value: NDArray[Any] | np.generic) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def _thirds(qkv: Linear) -> list[Linear]:
    """Separate products for queries, keys and values."""
    weights = np.split(qkv.weight, 3, axis=1)
    biases = [None] * 3 if qkv.bias is None else np.split(qkv.bias, 3)
    return [Linear(*part) for part in zip(weights, biases, strict=True)]
