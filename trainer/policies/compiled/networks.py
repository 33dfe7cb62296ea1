"""A multilayer perceptron over a chunk of samples, forwards and backwards.

Its weights and biases lie in one flat array, as PyTorch lays them out: weights [outputs, inputs],
then biases, layer by layer. Products take them from `panels`, copies whose rows are padded to whole
vectors, and leave gradients in the same way; `unpack_gradients` brings those back.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...jit.activations import activate, backpropagate_activation
from ...jit.compiling import compiled
from ...jit.products import compiled_padded, few_outputs, padded, product

CHUNK = 64  # samples at once: their activations and a layer's weights stay in the first caches
FEW_OUTPUTS = 8

# Columns of a table of layers: sizes, and where in parameters, panels and gradients each begins.
INPUTS, OUTPUTS, PLACE, FORWARD, BACKWARD, GRADIENT = range(6)


class Layout(NamedTuple):
    """Networks side by side. `tables` [L, 6] int64 are their layers; `width` is the room that a
    sample's activations take, and `num_panels` and `num_gradients` the sizes of those arrays.
    """

    tables: tuple[NDArray[np.int64], ...]
    width: int
    num_panels: int
    num_gradients: int


@cache
def layout_of(networks: tuple[tuple[int, ...], ...], num_between: int = 0) -> Layout:
    """The layout of networks of these sizes, with `num_between` parameters after the first."""
    width = max(padded(size) for sizes in networks for size in sizes)
    place, panel, gradient = 0, width, 0  # panels begin with a row of zeros
    tables = []
    for sizes in networks:
        rows = []
        for inputs, outputs in itertools.pairwise(sizes):
            forward_size = (inputs + 1) * padded(outputs)
            rows.append((inputs, outputs, place, panel, panel + forward_size, gradient))
            place += (inputs + 1) * outputs
            panel += forward_size + outputs * padded(inputs)
            gradient += max(inputs * padded(outputs), outputs * padded(inputs)) + padded(outputs)
        tables.append(np.array(rows, np.int64))
        place += num_between if len(tables) == 1 else 0
    return Layout(tuple(tables), width, panel, gradient)


@compiled
def pack(parameters, layers, panels):
    """Copy every layer to its panels: weights as [inputs, outputs], biases, and weights again as
    [outputs, inputs].
    """
    for layer in range(len(layers)):
        inputs, outputs, place, forward, backward, _ = layers[layer]
        row, back_row = compiled_padded(outputs), compiled_padded(inputs)
        for j in range(outputs):
            for i in range(inputs):
                weight = parameters[place + j * inputs + i]
                panels[forward + i * row + j] = weight
                panels[backward + j * back_row + i] = weight
            panels[forward + inputs * row + j] = parameters[place + inputs * outputs + j]


@compiled
def forward(x, rows, parameters, panels, layers, activation, outputs_of):
    """Fill `outputs_of` [L, CHUNK, width] with every layer's outputs for x [rows, inputs]."""
    last = len(layers) - 1
    inputs_of_layer = x
    for layer in range(last + 1):
        inputs, outputs, place, panel = layers[layer, :4]
        out = outputs_of[layer]
        if outputs < FEW_OUTPUTS:
            size = inputs * outputs
            bias = parameters[place + size : place + size + outputs]
            weights = parameters[place : place + size].reshape((outputs, inputs))
            few_outputs(inputs_of_layer, weights, bias, out, rows, inputs, outputs)
        else:
            row = compiled_padded(outputs)
            product(
                (panels, panel + inputs * row, 0),
                (inputs_of_layer, 0, inputs_of_layer.shape[1], 1),
                (panels, panel, row),
                (out, 0, out.shape[1]),
                rows,
                inputs,
                row,
            )
        if layer < last:
            activate(out, rows, outputs, activation)
        inputs_of_layer = out


@compiled
def backward(x, rows, panels, layers, activation, outputs_of, deltas, gradients):
    """Add to `gradients`, laid out by `GRADIENT`, what the loss's derivative by the outputs gives.

    That derivative is in `deltas[(L - 1) % 2]` [CHUNK, width]; both of `deltas` are overwritten.
    Rows of `x` are padded to whole vectors, as those of `outputs_of` and `deltas` are.
    """
    width = deltas.shape[2]
    for layer in range(len(layers) - 1, -1, -1):
        inputs, outputs, _, _, panel, place = layers[layer]
        delta = deltas[layer % 2]
        x_of_layer = x if layer == 0 else outputs_of[layer - 1]
        add_gradients(x_of_layer, delta, rows, inputs, outputs, gradients, place)
        if layer > 0:
            before, row = deltas[(layer - 1) % 2], compiled_padded(inputs)
            product(
                (panels, 0, 0),
                (delta, 0, width, 1),
                (panels, panel, row),
                (before, 0, width),
                rows,
                outputs,
                row,
            )
            backpropagate_activation(before, x_of_layer, rows, inputs, activation)


@njit(inline="always")
def is_turned(inputs, outputs):
    """Whether a layer's gradients are kept as [inputs, outputs]: the longer side is innermost."""
    return outputs >= inputs


@compiled
def add_gradients(x, delta, rows, inputs, outputs, gradients, place):
    """Add those of one layer: by weights, sums of delta[b, j] * x[b, i], and by biases after."""
    if is_turned(inputs, outputs):
        row, lines = compiled_padded(outputs), inputs
        left, right = (x, 0, 1, x.shape[1]), (delta, 0, delta.shape[1])
    else:
        row, lines = compiled_padded(inputs), outputs
        left, right = (delta, 0, 1, delta.shape[1]), (x, 0, x.shape[1])
    sums = (gradients, place, row)
    product(sums, left, right, sums, lines, rows, row)
    biases = gradients[place + lines * row : place + lines * row + outputs]
    for b in range(rows):
        for j in range(outputs):
            biases[j] += delta[b, j]


@compiled
def unpack_gradients(gradients, layers, flat):
    """Write the gradients of a network to `flat`, laid out as its parameters are."""
    for layer in range(len(layers)):
        inputs, outputs, place, _, _, packed = layers[layer]
        turned = is_turned(inputs, outputs)
        row = compiled_padded(outputs) if turned else compiled_padded(inputs)
        biases = packed + (inputs if turned else outputs) * row
        for j in range(outputs):
            for i in range(inputs):
                at = i * row + j if turned else j * row + i
                flat[place + j * inputs + i] = gradients[packed + at]
            flat[place + inputs * outputs + j] = gradients[biases + j]
