"""What learns from replay learns the encoder that an environment brings as well."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from learning import iterate
from torch import nn

from operant.trainer.config import train_config
from operant.trainer.config.from_values import make_config
from operant.trainer.envs import load_spec
from operant.trainer.experiment import build, untrained
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads

ENVS = {
    "dqn": "cart_pole", "c51": "cart_pole", "qr_dqn": "cart_pole", "iqn": "cart_pole",
    "rainbow": "cart_pole", "ddpg": "pendulum", "td3": "pendulum", "sac": "pendulum",
    "tqc": "pendulum",
    "ac_iqn": "pendulum",
}  # fmt: skip


class Squares(nn.Module):
    """Features of observations and of their squares."""

    num_features = 6

    def __init__(self, obs_size, seed):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.linear = nn.Linear(2 * obs_size, self.num_features)

    def forward(self, obs):
        return self.linear(torch.cat([obs, obs.square()], -1)).relu()


@pytest.fixture
def make(monkeypatch):
    def make_one(algorithm, **section):
        spec = load_spec(ENVS[algorithm])
        spec = replace(spec, make_encoder=lambda seed: Squares(spec.obs_size, seed))
        for module in (train_config, untrained):
            monkeypatch.setattr(module, "spec_of", lambda _: spec)
        monkeypatch.setattr(build, "env_spec_of", lambda _: spec)
        values = {
            "env": ENVS[algorithm], "algorithm": algorithm, "num_envs": 4, "rollout_steps": 8,
            "num_threads": 1, "total_env_steps": 32 * 8, "replay": {"capacity": 400},
            "policy": {"hidden_sizes": [16, 16]},
            algorithm: {"warmup_env_steps": 32, "batch_size": 32, **section},
        }  # fmt: skip
        return processor_experiment(make_config(values, ()), Threads(1))

    return make_one


def encoder_weights(module):
    parts = [part for part in module.modules() if isinstance(part, Squares)]
    return [part.linear.weight.detach().clone() for part in parts]


CASES = [(name, {}) for name in ENVS] + [("sac", {"exploration": "state_dependent"})]


@pytest.mark.parametrize(("algorithm", "section"), CASES)
def test_the_encoder_is_learned_and_acted_by(make, algorithm, section):
    experiment = make(algorithm, **section)
    policy, critics = experiment.policy, getattr(experiment.algorithm, "critics", None)
    networks = [policy.network, *([] if critics is None else [critics])]
    before = [encoder_weights(network) for network in networks]
    iterate(experiment, 3)
    for network, weights in zip(networks, before, strict=True):
        assert weights
        for was, now in zip(weights, encoder_weights(network), strict=True):
            assert not torch.equal(was, now)
    # What acts is what was learned: the same with a tape and without one.
    obs = torch.randn(5, policy.obs_size, generator=torch.Generator().manual_seed(1))
    inputs = (obs,) if algorithm != "iqn" else (obs, torch.full((5, 3), 0.5))
    with torch.no_grad():
        without = policy.network(*inputs)
    torch.testing.assert_close(policy.network(*inputs).detach(), without)


@pytest.mark.parametrize("algorithm", ["dqn", "sac", "ac_iqn"])
def test_runs_with_encoders_resume_exactly(make, algorithm):
    straight, first, second = (make(algorithm) for _ in range(3))
    iterate(straight, 4)
    iterate(first, 2)
    second.load_state_dict(first.state_dict(), 2)
    iterate(second, 2)
    assert torch.equal(straight.policy.flat_parameters, second.policy.flat_parameters)


def test_twin_critics_see_through_encoders_of_their_own(make):
    first, second = encoder_weights(make("sac").algorithm.critics)
    assert not torch.equal(first, second)
