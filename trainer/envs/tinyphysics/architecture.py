"""Reads the sizes and weights of the challenge's transformer from an ONNX graph.

Names are not used. The products with constant matrices, in the order of computation, are the
embedding of the state, four per block, and the head. Their shapes are checked here, and a rebuilt
model is checked against the graph's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....shared.errors import UsageError
from .constants import CONTEXT_STEPS, STATE_SIZE, VOCABULARY_SIZE

Weights = NDArray[np.float32]
EPSILON = 1e-5  # of the layer norms
PRODUCTS_OF_A_BLOCK = 4

Shape = tuple[int | str, ...]


class ArchitectureError(UsageError):
    """A model has another architecture than the public one."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"operant runs pre-norm transformers like the public model only: {reason}")


@dataclass(frozen=True)
class Linear:
    """x @ weight [inputs, outputs] + bias [outputs], if there is a bias."""

    weight: Weights
    bias: Weights | None


@dataclass(frozen=True)
class Norm:
    scale: Weights
    shift: Weights


@dataclass(frozen=True)
class Block:
    """x + projection(attention(norm_1(x))), then x + down(gelu(up(norm_2(x))))."""

    norm_1: Norm
    qkv: Linear
    projection: Linear
    norm_2: Norm
    up: Linear
    down: Linear


@dataclass(frozen=True)
class Architecture:
    """All weights, with d the width of the model."""

    num_heads: int
    tanh_gelu: bool
    state_embedding: Linear  # [4, e]
    token_embedding: Weights  # [1024, d - e]
    position_embedding: Weights  # [20, d]
    blocks: tuple[Block, ...]
    norm: Norm
    head: Linear  # [d, 1024]

    @property
    def width(self) -> int:
        return int(self.position_embedding.shape[1])


def architecture(model: Any) -> Architecture:
    """The architecture of an ONNX model of the challenge. Raises ArchitectureError."""
    return _Reader(model).architecture()


class _Reader:
    def __init__(self, model: Any) -> None:
        import onnx
        from onnx import numpy_helper

        graph = model.graph
        self._nodes = graph.node
        self._weights = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        for node in self._nodes:  # the same weights by another name
            if node.op_type == "Identity" and node.input[0] in self._weights:
                self._weights[node.output[0]] = self._weights[node.input[0]]
        self._users: dict[str, list[Any]] = {}
        for node in self._nodes:
            for name in node.input:
                self._users.setdefault(name, []).append(node)
        self._shapes = tensor_shapes(onnx.shape_inference.infer_shapes(model, data_prop=True).graph)

    def architecture(self) -> Architecture:
        state_embedding, *products, head = self._linears()
        if len(products) % PRODUCTS_OF_A_BLOCK:
            raise ArchitectureError(f"{len(products)} products are not {PRODUCTS_OF_A_BLOCK} each")
        norms, width = self._norms(), head.weight.shape[0]
        num_blocks = len(products) // PRODUCTS_OF_A_BLOCK
        if len(norms) != 2 * num_blocks + 1:
            raise ArchitectureError(f"{len(norms)} layer norms in {num_blocks} blocks")
        tokens, positions = self._embeddings(width)
        embedded = state_embedding.weight.shape[1] + tokens.shape[1]
        if state_embedding.weight.shape[0] != STATE_SIZE or embedded != width:
            raise ArchitectureError("state and token are not embedded side by side")
        return Architecture(
            num_heads=self._num_heads(width),
            tanh_gelu=any(node.op_type == "Tanh" for node in self._nodes),
            state_embedding=state_embedding,
            token_embedding=tokens,
            position_embedding=positions,
            blocks=tuple(self._block(products, norms, width, i) for i in range(num_blocks)),
            norm=norms[-1],
            head=head,
        )

    def _block(self, products: list[Linear], norms: list[Norm], width: int, block: int) -> Block:
        first = PRODUCTS_OF_A_BLOCK * block
        qkv, projection, up, down = products[first : first + PRODUCTS_OF_A_BLOCK]
        hidden = up.weight.shape[1]
        expected = [(width, 3 * width), (width, width), (width, hidden), (hidden, width)]
        found = [linear.weight.shape for linear in (qkv, projection, up, down)]
        if found != expected:
            raise ArchitectureError(f"block {block} has matrices {found}, not {expected}")
        return Block(norms[2 * block], qkv, projection, norms[2 * block + 1], up, down)

    def _linears(self) -> list[Linear]:
        linears = []
        for node in self._nodes:
            weight = self._weights.get(node.input[1]) if node.op_type == "MatMul" else None
            if weight is not None and weight.ndim == 2:
                linears.append(
                    Linear(weight, self._operand(node.output[0], "Add", weight.shape[1]))
                )
        if len(linears) < 2 + PRODUCTS_OF_A_BLOCK:
            raise ArchitectureError(f"only {len(linears)} products with constant matrices")
        return linears

    def _norms(self) -> list[Norm]:
        """Layer norms: nodes of that type, or quotients scaled and shifted by constant vectors."""
        norms = []
        for node in self._nodes:
            if node.op_type == "LayerNormalization":
                norms.append(Norm(*(self._weights[name] for name in node.input[1:3])))
            if node.op_type == "Div":
                size = self._shapes.get(node.output[0], (0,))[-1:]
                scale = self._operand(node.output[0], "Mul", *size)
                scaled = [user.output[0] for user in self._users.get(node.output[0], [])]
                if scale is not None:
                    shift = self._operand(scaled[0], "Add", *size)
                    norms.append(Norm(scale, np.zeros_like(scale) if shift is None else shift))
        return norms

    def _operand(self, name: str, op_type: str, size: int | str = 0) -> Weights | None:
        """The constant vector of the next `op_type` on `name`, if there is one."""
        for user in self._users.get(name, []):
            if user.op_type == op_type:
                for other in user.input:
                    weight: Weights | None = self._weights.get(other)
                    if weight is not None and weight.shape == (size,):
                        return weight
        return None

    def _embeddings(self, width: int) -> tuple[Weights, Weights]:
        tables = [
            self._weights[node.input[0]]
            for node in self._nodes
            if node.op_type == "Gather" and node.input[0] in self._weights
        ]
        tokens = [t for t in tables if t.ndim == 2 and t.shape[0] == VOCABULARY_SIZE]
        # Positions may also be added as they are: nothing has to be looked up.
        positions = [w for w in self._weights.values() if w.shape == (CONTEXT_STEPS, width)]
        if len(tokens) != 1 or len(positions) != 1:
            raise ArchitectureError("the embeddings of tokens and positions are not one table each")
        return tokens[0], positions[0]

    def _num_heads(self, width: int) -> int:
        shapes = [
            self._shapes.get(node.output[0], ())
            for node in self._nodes
            if node.op_type == "Reshape"
        ]
        heads = {s[2] for s in shapes if len(s) == 4 and s[1] == CONTEXT_STEPS}
        count = heads.pop() if len(heads) == 1 else 0
        if not isinstance(count, int) or count < 1 or width % count:
            raise ArchitectureError("the number of attention heads is not to be seen")
        return count


def tensor_shapes(graph: Any) -> dict[str, Shape]:
    """Shapes of the tensors whose number of axes is known; unknown sizes are strings."""
    shapes: dict[str, Shape] = {i.name: tuple(i.dims) for i in graph.initializer}
    for value in (*graph.value_info, *graph.input, *graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            shapes[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
                for dim in tensor.shape.dim
            )
    return shapes
