"""Cuts a model down to its last position, without knowing its architecture.

Only the last position of the output is used. Walking back from there, whatever treats positions
apart is computed for the last one alone; where positions meet, as the keys and values of attention
do, the walk ends and everything before is kept. The kernels that remain are the ones that were
there, on fewer rows, so the numbers stay as they were to the last bit or nearly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

POSITION_AXIS = 1  # of the inputs and the output
ELEMENTWISE = frozenset({
    "Abs", "Add", "Cast", "Clip", "Div", "Erf", "Exp", "Gelu", "Identity", "Log", "Max", "Min",
    "Mul", "Neg", "Not", "Pow", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh",
    "Where",
})  # fmt: skip
ALONG_THE_LAST_AXIS = frozenset({"LayerNormalization", "LogSoftmax", "ReduceMean", "ReduceSum",
                                 "Softmax"})  # fmt: skip

Shape = tuple[int | str, ...]


def pruned(model: Any) -> Any:
    """A copy of an ONNX model whose output [b, T, V] holds the last position only: [b, 1, V]."""
    import onnx

    model = _with_separate_splits(onnx.shape_inference.infer_shapes(model, data_prop=True))
    # Once to see what is needed of all positions, then again taking the last from that.
    cut, live = _cut(model, taken_whole=frozenset())
    cut, _ = _cut(model, taken_whole=live)
    return cut


def _cut(model: Any, taken_whole: frozenset[str]) -> tuple[Any, frozenset[str]]:
    """The cut model, and the names of the tensors in it that are computed for all positions."""
    import onnx

    cutter = _Cutter(model, taken_whole)
    output = cutter.last(model.graph.output[0].name, POSITION_AXIS)
    nodes = _live_nodes([*model.graph.node, *cutter.new_nodes], output)
    cut = onnx.ModelProto()
    cut.CopyFrom(model)
    graph = cut.graph
    for field in (graph.node, graph.initializer, graph.output, graph.value_info):
        del field[:]
    graph.node.extend(nodes)
    names = {name for node in nodes for name in node.input}
    graph.initializer.extend(
        i for i in [*model.graph.initializer, *cutter.new_initializers] if i.name in names
    )
    kind = model.graph.output[0].type.tensor_type
    batch, _, size = cutter.shapes[model.graph.output[0].name]
    graph.output.append(
        onnx.helper.make_tensor_value_info(output, kind.elem_type, [batch, 1, size])
    )
    old = {name for node in model.graph.node for name in node.output}
    return cut, frozenset(old & {name for node in nodes for name in node.output})


class _Cutter:
    """Makes the nodes that compute the last position of what the model computes for all."""

    def __init__(self, model: Any, taken_whole: frozenset[str]) -> None:
        from onnx import numpy_helper

        graph = model.graph
        self.shapes = tensor_shapes(graph)
        self._makers = {name: node for node in graph.node for name in node.output}
        self._constants = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self._taken_whole = taken_whole
        self._known: dict[tuple[str, int], str] = {}
        self.new_nodes: list[Any] = []
        self.new_initializers: list[Any] = []

    def last(self, name: str, axis: int) -> str:
        """The name of tensor `name` at the last index along `axis`, which stays, with size 1."""
        if (name, axis) not in self._known:
            node = self._makers.get(name)
            walk = self._walk(node) if node and name not in self._taken_whole else None
            self._known[name, axis] = (walk and walk(node, name, axis)) or self._slice(name, axis)
        return self._known[name, axis]

    def _walk(self, node: Any) -> Callable[[Any, str, int], str | None] | None:
        if node.op_type in ELEMENTWISE:
            return self._elementwise
        if node.op_type in ALONG_THE_LAST_AXIS:
            return self._along_the_last_axis
        walks = {"MatMul": self._matmul, "Transpose": self._transpose, "Reshape": self._reshape}
        return walks.get(node.op_type)

    def _elementwise(self, node: Any, name: str, axis: int) -> str | None:
        rank, inputs = len(self.shapes.get(name, ())), []
        for operand in node.input:
            shape = self.shapes.get(operand)
            if shape is None or not rank:
                return None
            place = axis - (rank - len(shape))  # shapes are aligned at their ends
            varies = place >= 0 and shape[place] != 1
            inputs.append(self.last(operand, place) if varies else operand)
        return self._like(node, inputs)

    def _along_the_last_axis(self, node: Any, name: str, axis: int) -> str | None:
        rank = len(self.shapes.get(name, ()))
        axes = _attribute(node, "axes") or [_attribute(node, "axis", -1)]
        if len(node.output) > 1 or not rank or any(a % rank != rank - 1 for a in axes):
            return None
        if axis == rank - 1 or _attribute(node, "keepdims", 1) == 0:
            return None
        return self._like(node, [self.last(node.input[0], axis), *node.input[1:]])

    def _matmul(self, node: Any, name: str, axis: int) -> str | None:
        rank = len(self.shapes.get(name, ()))
        if axis != rank - 2 or len(self.shapes.get(node.input[0], ())) != rank:
            return None
        return self._like(node, [self.last(node.input[0], axis), node.input[1]])

    def _transpose(self, node: Any, name: str, axis: int) -> str | None:
        order = _attribute(node, "perm")
        return self._like(node, [self.last(node.input[0], order[axis])]) if order else None

    def _reshape(self, node: Any, name: str, axis: int) -> str | None:
        """Where everything up to the axis stays as it is, as when heads are split or merged."""
        before, after = self.shapes.get(node.input[0]), self.shapes.get(name)
        if not before or not after or axis != 1 or before[1] != after[1]:
            return None
        rest = list(after[2:])
        # A batch of unknown size is the same when everything else is.
        if before[0] != after[0] and (_product(rest) or 0) != _product(before[2:]):
            return None
        if sum(not isinstance(size, int) for size in rest) > 1:
            return None
        # 0 keeps the size of the input, -1 is whatever remains.
        sizes = [0, 1, *(size if isinstance(size, int) else -1 for size in rest)]
        shape = self._initializer(f"{name}/last_shape", np.array(sizes, np.int64))
        return self._like(node, [self.last(node.input[0], axis), shape])

    def _like(self, node: Any, inputs: list[str]) -> str:
        """A node that does the same with other inputs."""
        copy = type(node)()
        copy.CopyFrom(node)
        output = f"{node.output[0]}/last"
        copy.name = output
        del copy.input[:], copy.output[:]
        copy.input.extend(inputs)
        copy.output.append(output)
        self.new_nodes.append(copy)
        return output

    def _slice(self, name: str, axis: int) -> str:
        import onnx

        output = f"{name}/last_of_{axis}"
        inputs = [
            self._initializer(f"{output}/{part}", np.array([value], np.int64))
            for part, value in (("start", -1), ("end", np.iinfo(np.int64).max), ("axis", axis))
        ]
        self.new_nodes.append(onnx.helper.make_node("Slice", [name, *inputs], [output], output))
        return output

    def _initializer(self, name: str, value: NDArray[Any]) -> str:
        from onnx import numpy_helper

        self.new_initializers.append(numpy_helper.from_array(value, name))
        return name


def _with_separate_splits(model: Any) -> Any:
    """`Split(x @ W)` as one product for each part, so that parts not needed can be left out."""
    import onnx
    from onnx import numpy_helper

    weights = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    nodes, shapes = [], tensor_shapes(model.graph)
    for node in model.graph.node:
        product: Any = makers.get(node.input[0]) if node.op_type == "Split" else None
        weight = weights.get(product.input[1]) if product and product.op_type == "MatMul" else None
        rank = len(shapes.get(node.output[0], ()))
        if weight is None or not rank or _attribute(node, "axis", 0) % rank != rank - 1:
            nodes.append(node)
            continue
        sizes = [shapes[name][-1] for name in node.output]
        parts = np.split(weight, np.cumsum(sizes)[:-1], axis=1)
        for output, part in zip(node.output, parts, strict=True):
            name = f"{output}/weight"
            model.graph.initializer.append(
                numpy_helper.from_array(np.ascontiguousarray(part), name)
            )
            nodes.append(onnx.helper.make_node("MatMul", [product.input[0], name], [output]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model


def _live_nodes(nodes: list[Any], output: str) -> list[Any]:
    """The nodes that `output` depends on, each after those that it depends on."""
    makers = {name: node for node in nodes for name in node.output}
    ordered: list[Any] = []
    seen: set[int] = set()

    def visit(name: str) -> None:
        node = makers.get(name)
        if node is None or id(node) in seen:
            return
        seen.add(id(node))
        for needed in node.input:
            visit(needed)
        ordered.append(node)

    visit(output)
    return ordered


def tensor_shapes(graph: Any) -> dict[str, Shape]:
    """Of every tensor whose number of axes is known; a size that is not is a word."""
    shapes: dict[str, Shape] = {i.name: tuple(i.dims) for i in graph.initializer}
    for value in (*graph.value_info, *graph.input, *graph.output):
        tensor = value.type.tensor_type
        if tensor.HasField("shape"):
            shapes[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
                for dim in tensor.shape.dim
            )
    return shapes


def _product(sizes: Sequence[int | str]) -> int | None:
    """None where a size is not known."""
    numbers = [size for size in sizes if isinstance(size, int)]
    return math.prod(numbers) if len(numbers) == len(sizes) else None


def _attribute(node: Any, name: str, default: Any = None) -> Any:
    import onnx

    for attribute in node.attribute:
        if attribute.name == name:
            return onnx.helper.get_attribute_value(attribute)
    return default
