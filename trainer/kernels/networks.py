"""A multilayer perceptron over a chunk of samples, forwards and backwards.

Its weights and biases lie in one flat array, as PyTorch lays them out: weights [outputs, inputs],
then biases, layer by layer. `layers` [L, 3] int64 holds inputs, outputs and the place of each.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy import float32
from numpy.typing import NDArray

from ..compiling import compiled
from .activations import activate, backpropagate_activation
from .products import add_outer_products, add_product, few_outputs

CHUNK = 64  # samples at once: their activations and a layer's weights stay in the first caches
FEW_OUTPUTS = 8
INPUTS, OUTPUTS, PLACE = range(3)

_ZERO = float32(0.0)


def layer_table(sizes: Sequence[int], place: int = 0) -> NDArray[np.int64]:
    """The `layers` of a network of these sizes whose parameters begin at `place`."""
    rows = []
    for inputs, outputs in itertools.pairwise(sizes):
        rows.append((inputs, outputs, place))
        place += (inputs + 1) * outputs
    return np.array(rows, np.int64)


@compiled
def transpose_weights(parameters, layers, transposed):
    """Write every layer's weights as [inputs, outputs] to `transposed`, at the same places."""
    for layer in range(len(layers)):
        inputs, outputs, place = layers[layer]
        for j in range(outputs):
            for i in range(inputs):
                transposed[place + i * outputs + j] = parameters[place + j * inputs + i]


@compiled
def forward(x, rows, parameters, transposed, layers, activation, outputs_of):
    """Fill `outputs_of` [L, CHUNK, width] with every layer's outputs for x [rows, inputs]."""
    last = len(layers) - 1
    inputs_of_layer = x
    for layer in range(last + 1):
        inputs, outputs, place = layers[layer]
        size = inputs * outputs
        bias = parameters[place + size : place + size + outputs]
        out = outputs_of[layer]
        if outputs < FEW_OUTPUTS:
            weights = parameters[place : place + size].reshape((outputs, inputs))
            few_outputs(inputs_of_layer, weights, bias, out, rows, inputs, outputs)
        else:
            for b in range(rows):
                for j in range(outputs):
                    out[b, j] = bias[j]
            weights = transposed[place : place + size].reshape((inputs, outputs))
            add_product(inputs_of_layer, weights, out, rows, inputs, outputs)
        if layer < last:
            activate(out, rows, outputs, activation)
        inputs_of_layer = out


@compiled
def backward(x, rows, parameters, layers, activation, outputs_of, deltas, gradients):
    """Add to `gradients`, flat as `parameters`, what the loss's derivative by the outputs gives.

    That derivative is in `deltas[(L - 1) % 2]` [CHUNK, width]; both of `deltas` are overwritten.
    """
    for layer in range(len(layers) - 1, -1, -1):
        inputs, outputs, place = layers[layer]
        size = inputs * outputs
        delta = deltas[layer % 2]
        x_of_layer = x if layer == 0 else outputs_of[layer - 1]
        _add_weight_gradients(delta, x_of_layer, rows, inputs, outputs, gradients, place)
        for b in range(rows):
            for j in range(outputs):
                gradients[place + size + j] += delta[b, j]
        if layer > 0:
            before = deltas[(layer - 1) % 2]
            for b in range(rows):
                for i in range(inputs):
                    before[b, i] = _ZERO
            weights = parameters[place : place + size].reshape((outputs, inputs))
            add_product(delta, weights, before, rows, outputs, inputs)
            backpropagate_activation(before, x_of_layer, rows, inputs, activation)


@compiled
def _add_weight_gradients(delta, x, rows, inputs, outputs, gradients, place):
    """gradients[j, i] += sum of delta[b, j] * x[b, i], the longer side innermost."""
    if inputs >= outputs or inputs >= 16:
        weights = gradients[place : place + inputs * outputs].reshape((outputs, inputs))
        add_outer_products(delta, x, weights, rows, outputs, inputs)
        return
    turned = np.zeros((inputs, outputs), np.float32)
    add_outer_products(x, delta, turned, rows, inputs, outputs)
    for j in range(outputs):
        for i in range(inputs):
            gradients[place + j * inputs + i] += turned[i, j]
