"""The losses of PPO with action masks are those of sb3-contrib's MaskablePPO."""

from __future__ import annotations

import pytest
import torch
from masked_envs import NUM_ACTIONS, ByMethod, Several
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from torch import nn

from operant.trainer.algorithms.minibatches import Batch
from operant.trainer.algorithms.ppo import ppo_loss_sums
from operant.trainer.envs.hosts import load_spec
from operant.trainer.envs.own_envs import register_own
from operant.trainer.policies.actor_critic import ActorCritic
from operant.trainer.settings.policy import PolicyConfig

NUM_STEPS = 256


class SeveralByMethod(Several):
    def action_masks(self):
        return self.info()["action_mask"]


def linear(*modules):
    return [
        layer for module in modules for layer in module.modules() if isinstance(layer, nn.Linear)
    ]


@pytest.mark.parametrize("make", [ByMethod, SeveralByMethod])
def test_losses_of_a_rollout_are_those_of_maskable_ppo(make):
    theirs = MaskablePPO(
        "MlpPolicy", make(), n_steps=NUM_STEPS, batch_size=NUM_STEPS, n_epochs=1, seed=1,
        normalize_advantage=False, device="cpu",
    )  # fmt: skip
    theirs.set_logger(configure(format_strings=[]))
    _, callback = theirs._setup_learn(NUM_STEPS)
    theirs.collect_rollouts(theirs.env, callback, theirs.rollout_buffer, NUM_STEPS)
    torch.manual_seed(1)
    with torch.no_grad():  # as if after some steps: ratios are not 1
        for weight in theirs.policy.parameters():
            weight += 0.05 * torch.randn_like(weight)
    (samples,) = theirs.rollout_buffer.get(NUM_STEPS)

    spec = load_spec(register_own(make))
    ours = ActorCritic(spec, PolicyConfig(hidden_sizes=[64, 64], activation="tanh"), False, 1)
    policy = theirs.policy
    same = zip(
        linear(ours.actor, ours.critic),
        linear(policy.mlp_extractor.policy_net, policy.action_net,
               policy.mlp_extractor.value_net, policy.value_net),
        strict=True,
    )  # fmt: skip
    for layer, other in same:
        layer.load_state_dict(other.state_dict())

    num_choices = spec.obs_size - NUM_ACTIONS
    obs = torch.cat([samples.observations, samples.action_masks.view(-1, num_choices)], 1)
    actions = samples.actions.long()
    batch = Batch(
        obs, actions if ours.action_shape else actions.squeeze(1), samples.old_log_prob,
        samples.advantages, samples.returns, samples.old_values,
    )  # fmt: skip
    with torch.no_grad():
        outputs, values = ours.evaluate(obs)
        sums = ppo_loss_sums(ours.distribution, outputs, values, batch, clip_coef=0.2)
    theirs.train()
    figures = theirs.logger.name_to_value
    expected = [
        figures["train/policy_gradient_loss"], figures["train/value_loss"] / 2,
        -figures["train/entropy_loss"], figures["train/approx_kl"],
        figures["train/clip_fraction"],
    ]  # fmt: skip
    assert [float(x) / NUM_STEPS for x in sums] == pytest.approx(expected, abs=1e-5)
    assert expected[3] > 1e-3  # there was something to compare
    assert expected[4] > 0
