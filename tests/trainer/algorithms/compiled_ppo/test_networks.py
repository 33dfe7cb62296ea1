"""Compiled networks and their gradients are PyTorch's, for every shape and number of rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from operant.trainer.jit.activations import ACTIVATIONS
from operant.trainer.policies.actor_critic import ACTIVATIONS as MODULES
from operant.trainer.policies.actor_critic import flattened, make_mlp
from operant.trainer.policies.compiled.networks import (
    CHUNK,
    backward,
    forward,
    layout_of,
    pack,
    unpack_gradients,
)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 70), min_size=2, max_size=5),
    rows=st.integers(1, CHUNK),
    activation=st.sampled_from(ACTIVATIONS),
    seed=st.integers(0, 2**31),
)
@pytest.mark.slow
def test_outputs_and_gradients_are_pytorchs(sizes, rows, activation, seed):
    torch.manual_seed(seed)
    network = make_mlp(sizes, MODULES[activation])
    parameters = flattened(list(network.parameters())).numpy()
    (layers,), width, num_panels, num_gradients = layout_of((tuple(sizes),))
    x, by_outputs = torch.randn(rows, sizes[0]), torch.randn(rows, sizes[-1])

    panels = np.zeros(num_panels, np.float32)
    pack(parameters, layers, panels)
    padded_x = np.full((CHUNK, width), np.nan, np.float32)
    padded_x[:rows, : sizes[0]] = x.numpy()
    outputs_of = np.full((len(layers), CHUNK, width), np.nan, np.float32)
    code = ACTIVATIONS.index(activation)
    forward(padded_x, rows, parameters, panels, layers, code, outputs_of)
    expected = network(x)
    found = torch.from_numpy(outputs_of[-1, :rows, : sizes[-1]])
    torch.testing.assert_close(found, expected.detach(), rtol=2e-5, atol=2e-5)

    deltas = np.full((2, CHUNK, width), np.nan, np.float32)
    deltas[(len(layers) - 1) % 2, :rows, : sizes[-1]] = by_outputs.numpy()
    packed, gradients = np.zeros(num_gradients, np.float32), np.zeros_like(parameters)
    backward(padded_x, rows, panels, layers, code, outputs_of, deltas, packed)
    unpack_gradients(packed, layers, gradients)
    wanted = torch.autograd.grad((expected * by_outputs).sum(), list(network.parameters()))
    wanted = torch.cat([gradient.flatten() for gradient in wanted])
    torch.testing.assert_close(torch.from_numpy(gradients), wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("x", [0.0, 1e-6, 0.3, 1.0, 3.0, 8.9, 9.1, 100.0, np.inf])
def test_tanh_is_right_to_a_few_units_in_the_last_place(x):
    from operant.trainer.jit.activations import activate

    z = np.array([[x, -x]], np.float32)
    activate(z, 1, 2, ACTIVATIONS.index("tanh"))
    expected = np.tanh(np.float64(np.float32(x)))
    np.testing.assert_allclose(z[0], [expected, -expected], rtol=5e-7, atol=0)


def test_nan_is_not_hidden():
    from operant.trainer.jit.activations import activate

    for code in range(len(ACTIVATIONS)):
        z = np.array([[np.nan, 1.0]], np.float32)
        activate(z, 1, 2, code)
        assert np.isnan(z[0, 0])
