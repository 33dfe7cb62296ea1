"""Networks that are differentiated by hand, against automatic differentiation."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.policies.dense import ACTIVATIONS, Critics, DenseNetwork


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def by_autograd(outputs, by_outputs, inputs):
    gradients = torch.autograd.grad(outputs, inputs, by_outputs)
    return torch.cat([gradient.flatten() for gradient in gradients])


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize("num_copies", [1, 2, 3])
@pytest.mark.parametrize("hidden", [(), (5,), (8, 6)])
def test_gradients_are_those_of_automatic_differentiation(activation, num_copies, hidden):
    network = DenseNetwork((4, *hidden, 3), activation, num_copies, generator=seeded(1))
    obs = torch.randn(7, 4, generator=seeded(2)).requires_grad_()
    outputs, tape = network.taped(obs.detach())
    expected = network(obs)
    assert not outputs.requires_grad
    assert outputs.shape == ((num_copies, 7, 3) if num_copies > 1 else (7, 3))
    torch.testing.assert_close(outputs, expected.detach())
    by_outputs = torch.randn(outputs.shape, generator=seeded(3))
    torch.testing.assert_close(
        network.gradient(tape, by_outputs),
        by_autograd(network(obs), by_outputs, network.parameters_to_learn()),
    )
    torch.testing.assert_close(
        network.input_gradient(tape, by_outputs).flatten(),
        by_autograd(network(obs), by_outputs, [obs]),
    )


def test_first_weights_are_uniform_within_one_over_the_root_of_the_inputs():
    network = DenseNetwork((100, 400, 1), generator=seeded(1))
    for weights, bound in ((network.weights[0], 0.1), (network.biases[0], 0.1)):
        assert 0.98 * bound < weights.max() <= bound
        assert -bound <= weights.min() < -0.98 * bound
    # 40,000 numbers of deviation 0.1 / sqrt(3) = 0.0577, whose mean has one of 0.0003
    assert abs(network.weights[0].mean()) < 0.0015
    assert float(network.weights[0].detach().std()) == pytest.approx(0.0577, rel=0.02)


def test_weights_are_views_of_one_tensor_after_a_move_as_well():
    network = DenseNetwork((4, 8, 3), num_copies=2, generator=seeded(1))
    network.to_device(torch.device("cpu"))
    with torch.no_grad():
        network.flat_parameters.zero_()
        network.biases[-1][1] = 5
        outputs = network(torch.ones(1, 4))
    assert outputs.tolist() == [[[0.0] * 3], [[5.0] * 3]]
    assert network.flat_parameters.numel() == sum(p.numel() for p in network.parameters())


def test_a_frozen_copy_has_weights_of_its_own_and_follows_as_far_as_it_is_told():
    network = DenseNetwork((4, 8, 3), generator=seeded(1))
    target = network.frozen_copy()
    obs = torch.randn(7, 4, generator=seeded(2))
    assert torch.equal(target(obs), network(obs))
    assert not any(parameter.requires_grad for parameter in target.parameters())
    before = target.flat_parameters.clone()
    with torch.no_grad():
        network.flat_parameters += 1.0
    assert torch.equal(target.flat_parameters, before)
    target.follow(network, 0.25)
    torch.testing.assert_close(target.flat_parameters, before + 0.25)
    target.follow(network)
    assert torch.equal(target.flat_parameters, network.flat_parameters)
    assert torch.equal(target(obs), network(obs))


@pytest.mark.parametrize("num_copies", [1, 2])
def test_critics_give_slopes_by_their_weights_and_by_the_actions(num_copies):
    critics = Critics(4, 2, (8, 6), num_copies=num_copies, seed=1)
    obs, actions = torch.randn(7, 4, generator=seeded(2)), torch.rand(7, 2, generator=seeded(3))
    actions.requires_grad_()
    values, tape = critics.taped(obs, actions.detach())
    expected = critics(obs, actions)
    assert values.shape == (num_copies, 7)
    torch.testing.assert_close(values, expected.detach())
    by_values = torch.randn(values.shape, generator=seeded(4))
    torch.testing.assert_close(
        critics.gradient(tape, by_values),
        by_autograd(critics(obs, actions), by_values, critics.parameters_to_learn()),
    )
    torch.testing.assert_close(
        critics.action_gradient(tape, by_values).flatten(),
        by_autograd(critics(obs, actions), by_values, [actions]),
    )


def test_critics_begin_with_different_weights():
    critics = Critics(4, 2, (8,), seed=1)
    first, second = critics(torch.ones(1, 4), torch.ones(1, 2)).flatten().tolist()
    assert first != second
