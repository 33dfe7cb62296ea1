"""CrossQ's layers and losses are those of sb3-contrib, its gradients those of autograd."""

from __future__ import annotations

import copy

import pytest
import torch
from learning import iterate
from sb3_contrib.common.torch_layers import BatchRenorm1d
from torch.nn import functional

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads
from operant.trainer.policies.renormalized import WARMUP_STEPS, BatchRenorm

CROSSQ = {
    "env": "pendulum", "algorithm": "crossq", "num_envs": 4, "rollout_steps": 8, "num_threads": 1,
    "total_env_steps": 32 * 8, "policy": {"hidden_sizes": [16, 16], "activation": "relu"},
    "replay": {"capacity": 400},
    "crossq": {"warmup_env_steps": 64, "batch_size": 32},
}  # fmt: skip


@pytest.fixture
def make():
    threads = Threads(1)
    yield lambda: processor_experiment(make_config(CROSSQ), threads)
    threads.close()


@pytest.fixture
def experiment(make):
    made = make()
    iterate(made, 4)  # moments are no longer the first ones
    return made


def as_theirs(norm, copy=None):
    """One copy of a renormalisation as sb3-contrib's layer, in its training mode."""
    theirs = BatchRenorm1d(norm.scale.shape[-1])
    pairs = (
        (theirs.scale, norm.scale), (theirs.bias, norm.shift),
        (theirs.ra_mean, norm.mean), (theirs.ra_var, norm.variance),
    )  # fmt: skip
    for to, value in pairs:
        to.data.copy_((value if copy is None else value[copy]).squeeze(0))
    theirs.steps.fill_(int(norm.num_batches))
    return theirs


@pytest.mark.parametrize("num_batches", [0, WARMUP_STEPS, WARMUP_STEPS + 1])
@pytest.mark.parametrize("copies", [(), (2,)])
def test_a_layer_its_gradients_and_moments_are_sb3_contribs(num_batches, copies):
    torch.manual_seed(1)
    norm = BatchRenorm(copies, 5)
    norm.num_batches.fill_(num_batches)
    for tensor in (norm.scale.data, norm.shift.data, norm.mean):
        tensor.normal_()
    norm.variance.uniform_(0.01, 9)  # r and d reach their limits in some features
    x = (3 * torch.randn(*copies, 32, 5) + 4).requires_grad_()
    slopes = torch.randn_like(x)
    theirs = [as_theirs(norm, c) for c in range(2)] if copies else [as_theirs(norm)]
    outputs = norm.of_batch(x)
    (by_x, by_scale) = torch.autograd.grad(outputs, [x, norm.scale], slopes)
    norm.follow_batch(None)
    for number, layer in enumerate(theirs):
        part = (lambda tensor, n=number: tensor[n]) if copies else lambda tensor: tensor
        x_of = part(x).detach().requires_grad_()
        expected = layer(x_of)
        wanted = torch.autograd.grad(expected, [x_of, layer.scale], part(slopes))
        layer.eval()
        pairs = (
            (part(outputs), expected), (part(by_x), wanted[0]),
            (part(by_scale).squeeze(0), wanted[1]), (part(norm.mean).squeeze(0), layer.ra_mean),
            (part(norm.variance).squeeze(0), layer.ra_var), (part(norm(x)), layer(x_of)),
        )  # fmt: skip
        for ours, its in pairs:
            torch.testing.assert_close(ours, its, rtol=1e-4, atol=1e-5)


def test_an_update_that_moves_nothing_leaves_the_moments():
    norm = BatchRenorm((), 3)
    norm.of_batch(torch.full((4, 3), float("nan")))
    norm.follow_batch(torch.zeros(()))
    assert norm.mean.tolist() == [[0.0] * 3]
    assert float(norm.num_batches) == 0


def their_values(critics, obs, actions):
    """The output of sb3-contrib's layers in training mode, [copies, B]."""
    values = []
    for number in range(2):
        x = torch.cat([obs, actions], -1)
        layers = list(zip(critics.norms, critics.weights, critics.biases, strict=True))
        for layer, (norm, weight, bias) in enumerate(layers):
            x = as_theirs(norm, number)(x) @ weight[number] + bias[number]
            x = x if layer == len(layers) - 1 else torch.relu(x)
        values.append(x.squeeze(-1))
    return torch.stack(values)


def test_critics_see_both_states_at_once_and_no_target_network(experiment, monkeypatch):
    algorithm = experiment.algorithm
    batch = algorithm.replay.sample(algorithm.batch, 0.0)
    normals = torch.randn(32, 1)
    monkeypatch.setattr(algorithm, "next_draw", lambda name: normals)
    losses = algorithm.critic_losses(batch, batch.obs, batch.next_obs)

    # sb3-contrib's train().
    drawn = algorithm.policy.draw(batch.next_obs, normals)
    all_obs = torch.cat([batch.obs, batch.next_obs])
    all_values = their_values(algorithm.critics, all_obs, torch.cat([batch.actions, drawn.actions]))
    values, next_values = all_values.chunk(2, 1)
    soft = next_values.amin(0) - algorithm.alpha * drawn.log_probs
    target = batch.returns + batch.discounts * soft.detach()
    expected = 0.5 * sum(functional.mse_loss(each, target) for each in values)
    torch.testing.assert_close(losses.loss, expected.detach(), rtol=1e-4, atol=1e-5)

    critics = algorithm.critics
    critics._is_batch = True
    values = critics(all_obs, torch.cat([batch.actions, drawn.actions]))[:, :32]
    critics._is_batch = False
    loss = 0.5 * sum(functional.mse_loss(each, target) for each in values)
    gradients = torch.autograd.grad(loss, critics.parameters_to_learn())
    wanted = torch.cat([gradient.flatten() for gradient in gradients])
    torch.testing.assert_close(losses.gradient, wanted, rtol=1e-4, atol=1e-6)


def test_the_actor_and_alpha_move_with_every_third_update(experiment, monkeypatch):
    algorithm = experiment.algorithm
    batch = algorithm.replay.sample(algorithm.batch, 0.0)
    moved = []
    for number in range(6):
        before = algorithm.policy.flat_parameters.clone(), algorithm.log_alpha.clone()
        moments = algorithm.policy.network.moments.clone()
        algorithm.learn(batch, number, 1e-3, None)
        after = algorithm.policy.flat_parameters, algorithm.log_alpha
        changes = [not torch.equal(*pair) for pair in zip(before, after, strict=True)]
        moved.append({*changes, not torch.equal(moments, algorithm.policy.network.moments)})
    assert moved == [{False}, {False}, {True}] * 2


def test_the_actors_gradient_is_that_of_automatic_differentiation(experiment, actor_step):
    algorithm = experiment.algorithm
    obs, normals = torch.randn(32, 3), torch.randn(32, 1)
    network = copy.deepcopy(algorithm.policy.network)
    loss, gradient = actor_step(algorithm, obs, normals)

    network._is_batch = True
    mean, log_std = network(obs).chunk(2, -1)
    unsquashed = mean + log_std.clamp(-20, 2).exp() * normals
    log_probs = torch.distributions.Normal(mean, log_std.exp()).log_prob(unsquashed)
    actions = unsquashed.tanh()
    log_probs = (log_probs - torch.log(1 - actions**2 + 1e-6)).sum(-1)
    expected = (algorithm.alpha * log_probs - algorithm.critics(obs, actions).amin(0)).mean()
    gradients = torch.autograd.grad(expected, network.parameters_to_learn())
    wanted = torch.cat([gradient.flatten() for gradient in gradients])
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(gradient, wanted, rtol=1e-2, atol=1e-4)


def test_updates_that_policy_delay_does_not_divide_are_owed_to_the_next_iteration(make):
    run = make()
    counts = []
    for _ in range(5):
        iterate(run)
        counts.append(run.algorithm.num_updates)
    assert counts == [0, 30, 63, 96, 126]  # 32 are due in each


def test_adam_has_its_beta(experiment):
    algorithm = experiment.algorithm
    assert {optimizer.beta_1 for optimizer in algorithm.optimizers} == {0.5}
    assert algorithm.alpha_optimizer.beta_1 == 0.9
