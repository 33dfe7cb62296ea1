"""Networks of action values: plain and dueling."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.policies.value_network import make_value_network
from operant.trainer.settings.policy import PolicyConfig

CONFIG = PolicyConfig(hidden_sizes=(8, 6), activation="relu")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


KINDS = {
    "plain": {},
    "dueling": {"dueling": True},
    "normalised": {"layer_norm": True},
    "dueling, normalised": {"dueling": True, "layer_norm": True},
}


@pytest.fixture(params=list(KINDS.values()), ids=list(KINDS))
def network(request):
    return make_value_network(4, 3, CONFIG, seed=1, **request.param)


def test_values_are_of_all_actions_and_gradients_of_all_weights(network):
    obs = torch.randn(7, 4, generator=seeded(2))
    outputs, tape = network.taped(obs)
    torch.testing.assert_close(outputs, network.values(obs).detach())
    assert outputs.shape == (7, 3)
    by_outputs = torch.randn(7, 3, generator=seeded(3))
    gradients = torch.autograd.grad(network(obs), network.parameters_to_learn(), by_outputs)
    found = network.gradient(tape, by_outputs)
    assert found.shape == network.flat_parameters.shape
    torch.testing.assert_close(found, torch.cat([x.flatten() for x in gradients]))


def test_dueling_values_are_the_states_and_what_actions_add_beyond_their_mean():
    network = make_value_network(2, 3, PolicyConfig(hidden_sizes=(4,)), seed=1, dueling=True)
    layers = network.layers
    with torch.no_grad():
        network.flat_parameters.zero_()
        layers.value[-1].bias.fill_(5.0)
        layers.advantage[-1].bias.copy_(torch.tensor([1.0, 2.0, 6.0]))
    # 5 + (1, 2, 6) - 3
    assert network.values(torch.ones(1, 2)).tolist() == [[3.0, 4.0, 8.0]]


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_layer_norms_compute_in_float32_whatever_the_precision_of_products(precision):
    network = make_value_network(4, 2, PolicyConfig(), seed=1, layer_norm=True)
    network.precision = precision
    norms = [layer for layer in network.modules() if isinstance(layer, torch.nn.LayerNorm)]
    seen = []
    for norm in norms:
        norm.register_forward_hook(lambda layer, given, found: seen.append(found.dtype))
    network(torch.randn(8, 4))
    assert seen == [torch.float32] * 2
