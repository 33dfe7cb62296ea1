"""Layers with noise on their weights."""

from __future__ import annotations

import pytest
import torch

from operant.trainer.envs.hosts import load_spec
from operant.trainer.policies.noisy import NoisyLinear, shaped
from operant.trainer.policies.q_network import QPolicy
from operant.trainer.policies.value_network import CategoricalHead, QuantileHead, make_value_network
from operant.trainer.settings.policy import PolicyConfig

CONFIG = PolicyConfig(hidden_sizes=(8, 6), activation="relu")


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def test_weights_and_biases_are_moved_by_the_noise_of_inputs_and_outputs():
    layer = NoisyLinear(2, 1, initial_std=0.5)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
        layer.bias.fill_(3.0)
        layer.weight_std.fill_(0.1)
        layer.bias_std.fill_(0.2)
        layer.noise.copy_(torch.tensor([2.0, -1.0, 3.0]))
        x = torch.tensor([[1.0, 10.0]])
        # weights 1 + 0.1 * 3 * 2 = 1.6 and 2 - 0.1 * 3 * 1 = 1.7; bias 3 + 0.2 * 3 = 3.6
        assert float(layer(x)) == pytest.approx(1.6 + 17.0 + 3.6)
        layer.is_noisy = False
        assert float(layer(x)) == 24.0


def test_noise_is_the_signed_root_of_normal_numbers():
    layer = NoisyLinear(20_000, 20_000 // 10_000, initial_std=0.5)
    layer.take_noise(torch.randn(20_002, generator=seeded(1)))
    normal = layer.noise.sign() * layer.noise.square()
    # means of 20,002 numbers of deviation 1: 0.007 apart
    assert abs(float(normal.mean())) < 0.03
    assert float(normal.std()) == pytest.approx(1.0, abs=0.03)


def take_noise(network, seed):
    network.take_noise(torch.randn(network.num_noise, generator=seeded(seed)))


def test_rows_can_have_noise_of_their_own():
    layer, normals = NoisyLinear(3, 2, initial_std=0.5), torch.randn(4, 5, generator=seeded(1))
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(generator=seeded(2))
    x = torch.randn(4, 3, generator=seeded(3))
    layer.row_noise = shaped(normals)
    found = layer(x)
    twice = layer(x.repeat_interleave(2, 0))  # as where a row is several fractions
    layer.row_noise = None
    for row in range(4):
        layer.take_noise(normals[row])
        torch.testing.assert_close(found[row], layer(x)[row])
        torch.testing.assert_close(twice[2 * row + 1], layer(x)[row])


HEADS = {"plain": lambda: None, "c51": lambda: CategoricalHead(-10, 10), "qr": QuantileHead}


@pytest.mark.parametrize("dueling", [False, True])
@pytest.mark.parametrize("head", list(HEADS))
def test_every_head_can_be_noisy_and_dueling(head, dueling):
    network = make_value_network(
        4, 3, CONFIG, seed=1, head=HEADS[head](), dueling=dueling, noisy_std=0.5
    )
    policy = QPolicy(load_spec("cart_pole"), lambda *_: network, False, num_rows=200)
    policy.num_actions = 3
    policy.epsilon.zero_()
    obs = torch.randn(200, 4, generator=seeded(2))
    with torch.no_grad():
        greedy, without = policy.greedy(obs), policy.values(obs)
        take_noise(network, 3)
        first = policy.values(obs)
        take_noise(network, 4)
        second = policy.values(obs)
    assert first.shape == (200, 3)
    assert not torch.equal(first, second)
    assert not torch.equal(first, without)
    assert torch.equal(policy.greedy(obs), greedy)  # evaluation has no noise
    normals = torch.randn(200, network.num_noise, generator=seeded(5))
    policy.take_noise(normals)
    actions, _ = policy.act(obs, policy.noise((200,), seeded(6)))
    for row in range(3):  # each acts by a noise of its own
        network.take_noise(normals[row])
        assert int(actions[row]) == int(policy.values(obs[row : row + 1]).argmax())
    assert torch.equal(policy.greedy(obs), greedy)
    outputs, tape = network.taped(obs)
    assert network.gradient(tape, torch.ones_like(outputs)).shape == network.flat_parameters.shape


def test_values_of_atoms_are_their_mean():
    head = CategoricalHead(-1.0, 1.0, 3)
    # even: 0; all on the last: 1
    outputs = torch.tensor([[0.0, 0.0, 0.0, -99.0, -99.0, 99.0]])
    assert head.values(outputs).tolist() == [[0.0, 1.0]]
    assert QuantileHead(4).taus.tolist() == [0.125, 0.375, 0.625, 0.875]
    assert QuantileHead(2).values(torch.tensor([[1.0, 3.0, 5.0, 9.0]])).tolist() == [[2.0, 7.0]]
