"""Recurrent layers are those of the literature, and forget at ends of episodes inside rows."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.policies.recurrent import GRU, LSTM, has_loops, keep_of

L, B, INPUTS, SIZE = 7, 5, 3, 4


def seeded(number):
    return torch.Generator().manual_seed(number)


def made(kind):
    """A layer in float64 with biases, inputs [L, B, I] and a state [B, S]."""
    layer = kind(INPUTS, SIZE, seeded(1)).double()
    for name, parameter in layer.named_parameters():
        if "bias" in name:
            parameter.data.normal_(generator=seeded(2))
    inputs = torch.randn(L, B, INPUTS, generator=seeded(3), dtype=torch.float64)
    state = torch.randn(B, layer.state_size, generator=seeded(4), dtype=torch.float64)
    return layer, inputs, state


def resets():
    """Ends in the first, a middle and the last step, two in a row, and a row without any."""
    found = torch.zeros(L, B, dtype=torch.bool)
    found[0, 0] = found[3, 1] = found[L - 1, 2] = found[2, 3] = found[3, 3] = True
    return found


def step_by_step(layer, inputs, state, ended):
    """Outputs [L, B, H] and states [L, B, S] after every step, by automatic differentiation."""
    outputs, states = [], []
    for t in range(L):
        output, state = layer.step(inputs[t], state)
        outputs.append(output)
        states.append(state)
        state = torch.where(ended[t].unsqueeze(-1), 0.0, state)
    return torch.stack(outputs), torch.stack(states)


def reference_of(layer):
    """PyTorch's own layer with these weights, whose gates are in another order."""
    if isinstance(layer, LSTM):
        reference, order = torch.nn.LSTM(INPUTS, SIZE), (1, 2, 0, 3)  # i, f, g, o from g, i, f, o
    else:
        reference, order = torch.nn.GRU(INPUTS, SIZE), (0, 1, 2)

    def ordered(x):
        return torch.cat([x.chunk(len(order))[gate] for gate in order]).detach()

    reference.double()
    reference.weight_ih_l0.data = ordered(layer.input_weight)
    reference.weight_hh_l0.data = ordered(layer.state_weight)
    reference.bias_ih_l0.data = ordered(layer.bias)
    reference.bias_hh_l0.data.zero_()
    if isinstance(layer, GRU):
        reference.bias_hh_l0.data[2 * SIZE :] = layer.state_bias.detach()
    return reference


@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_without_ends_it_is_pytorchs_layer(kind):
    layer, inputs, state = made(kind)
    parts = layer(inputs, state, keep_of(torch.zeros(L, B, dtype=torch.bool)).double())
    first = tuple(x.unsqueeze(0) for x in state.chunk(layer.state_parts, -1))
    expected, last = reference_of(layer)(inputs, first if kind is LSTM else first[0])
    torch.testing.assert_close(parts[0], expected)
    last = last if kind is LSTM else (last,)
    for part, found in zip(parts, last, strict=True):
        torch.testing.assert_close(part[-1], found[0])


@pytest.mark.parametrize("kind", [LSTM, GRU])
def test_rows_and_their_gradient_are_those_of_single_steps_with_ends_inside(kind):
    layer, inputs, state = made(kind)
    inputs.requires_grad_()
    weights = torch.randn(L, B, SIZE, generator=seeded(5), dtype=torch.float64)
    parts = layer(inputs, state, keep_of(resets()).double())
    outputs, states = step_by_step(layer, inputs, state, resets())
    torch.testing.assert_close(parts[0], outputs)
    torch.testing.assert_close(torch.cat(parts, -1), states)
    learned = [inputs, *layer.parameters()]
    found, expected = (
        torch.autograd.grad((x * weights).sum(), learned) for x in (parts[0], outputs)
    )
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_an_lstm_begins_with_the_forget_gate_open_and_the_others_half_open():
    layer = LSTM(1, 1, seeded(1))
    layer.input_weight.data[:] = torch.tensor([[1.0], [0.0], [0.0], [0.0]])  # g alone sees it
    layer.state_weight.data.zero_()
    h, state = layer.step(torch.tensor([[1.0]]), torch.tensor([[0.0, 2.0]]))
    # c' = sigmoid(1) 2 + sigmoid(0) tanh(1) = 0.731059 * 2 + 0.5 * 0.761594 = 1.842914
    # h' = sigmoid(0) tanh(1.842914) = 0.5 * 0.951075 = 0.475537
    torch.testing.assert_close(state, torch.tensor([[0.475537, 1.842914]]))
    assert torch.equal(h, state[:, :1])


@pytest.mark.parametrize(("size", "rows"), [(16, 3), (32, 70), (48, 130)])
def test_compiled_loops_do_what_pytorch_does(size, rows):
    """In float32 with units enough for vectors; fewer rows than a block, and more."""
    layer = LSTM(INPUTS, size, seeded(1))
    layer.bias.data.normal_(generator=seeded(2))
    precise = LSTM(INPUTS, size, seeded(1)).double()
    precise.load_state_dict(layer.state_dict())
    inputs = torch.randn(L, rows, INPUTS, generator=seeded(3))
    state = torch.randn(rows, layer.state_size, generator=seeded(4))
    ended = torch.rand(L, rows, generator=seeded(5)) < 0.2
    weights = torch.randn(L, rows, size, generator=seeded(6))
    found, expected = [], []
    for each, into, kind in ((layer, found, torch.float32), (precise, expected, torch.float64)):
        assert has_loops(inputs.to(kind), size) == (kind == torch.float32)
        given = inputs.to(kind).requires_grad_()
        parts = each(given, state.to(kind), keep_of(ended).to(kind))
        loss = (parts[0] * weights).sum()
        into += [*parts, *torch.autograd.grad(loss, [given, *each.parameters()])]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-5, atol=2e-5)


def test_single_steps_by_compiled_loops_are_the_first_of_rows():
    layer = LSTM(INPUTS, 32, seeded(1))
    inputs = torch.randn(L, B, INPUTS, generator=seeded(3))
    state = torch.randn(B, layer.state_size, generator=seeded(4))
    with torch.no_grad():
        h, after = layer.step(inputs[0], state)
        hs, cs = layer(inputs, state, torch.ones(L, B, 1))
    torch.testing.assert_close(h, hs[0])
    torch.testing.assert_close(after, torch.cat([hs[0], cs[0]], -1))
