"""`operant.train(policy=...)`: a network of a script's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from image_envs import Pair
from own_lines import SMALL
from torch import nn

import operant
from operant.trainer.settings import own_code


def make_net():
    """A class of its own each time, that no module has: as a notebook's cell makes one."""

    class Net(nn.Module):
        num_features = 6

        def __init__(self, obs_shape):
            super().__init__()
            self.linear = nn.Linear(int(np.prod(obs_shape)), 6)

        def forward(self, obs):
            return self.linear(obs.flatten(1)).sin()

    return Net


def linear_of(policy):
    return policy._trained.policy.encoder.module.linear.weight


def test_the_class_of_a_script_is_trained_resumed_and_loaded(line):
    net = make_net()
    run = operant.train(line, policy=net, total_env_steps=128, **SMALL)
    first = operant.load(run)
    assert first._trained.config.policy.encoder.startswith("own/Net")
    assert linear_of(first).shape == (6, 1)
    operant.train(resume=run, total_env_steps=256)
    second = operant.load(run)
    assert second.iteration == 2 * first.iteration
    assert not torch.equal(linear_of(first), linear_of(second))
    assert np.isfinite(operant.evaluate(second, num_episodes=3).mean)


def test_another_process_is_given_the_class_once_more(line, monkeypatch):
    net = make_net()
    run = operant.train(line, policy=net, total_env_steps=64, **SMALL)
    known = dict(own_code._own)
    name = operant.load(run)._trained.config.policy.encoder
    monkeypatch.setattr(own_code, "_own", {key: x for key, x in known.items() if key != name})
    with pytest.raises(operant.UsageError, match=r"pass policy=Net\S* to operant.load"):
        operant.load(run)
    assert operant.load(run, policy=net).iteration == 1


def test_a_run_goes_on_with_a_class_that_was_defined_anew(line):
    """A rerun notebook cell redefines Net."""

    def defined():
        class Net(torch.nn.Module):
            def __init__(self, obs_shape):
                super().__init__()
                self.layer = torch.nn.Linear(*obs_shape, 8)

            def forward(self, obs):
                return self.layer(obs).tanh()

        return Net

    class Mine(operant.algorithms.PPO):
        pass

    class AsBefore(operant.algorithms.PPO):
        pass

    given = {"total_env_steps": 64, "policy": defined(), "algorithm": Mine, **SMALL}
    run = operant.train(line, **given)
    same = operant.train(
        resume=run, env=line, policy=defined(), algorithm=AsBefore, total_env_steps=128
    )
    assert same == run
    assert run.status().env_steps == 128
    with pytest.raises(operant.UsageError, match=r"policy = .*: expected a torch.nn.Module class"):
        operant.load(run, policy=defined()((1,)))
    assert operant.load(run).act([3.0]) is not None


def test_a_class_of_a_module_is_named_by_its_path_and_needs_no_gymnasium_environment():
    settings = {**SMALL, "policy.hidden_sizes": [8], "replay": {"capacity": 200}}
    run = operant.train(
        "cart_pole", algorithm="dqn", policy=Pair, total_env_steps=128,
        dqn={"warmup_env_steps": 64, "batch_size": 16}, **settings,
    )  # fmt: skip
    config = operant.load(run)._trained.config
    assert config.policy.encoder == "image_envs:Pair"
    assert config.policy.hidden_sizes == (8,)


@pytest.mark.parametrize("wrong", [nn.Linear(4, 4), "Net", 3])
def test_what_is_no_class_and_no_function_is_refused(wrong):
    with pytest.raises(operant.UsageError, match=r"expected a torch\.nn\.Module class, or"):
        operant.train("cart_pole", policy=wrong, total_env_steps=64)


def test_a_network_that_cannot_be_used_leaves_no_run():
    with pytest.raises(operant.UsageError, match=r"gives a str, expected a torch\.nn\.Module"):
        operant.train("cart_pole", policy=lambda shape: "net", total_env_steps=64)
    assert operant.runs() == []


def sparse_features(net, features):
    return features.to_sparse()


def features_without_memory(net, features):
    return features.to("meta")


def other_features_later(net, features):
    net.num_calls = getattr(net, "num_calls", 0) + 1
    return features if net.num_calls < 20 else features[..., :5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (sparse_features, r"forward gives \(2, 6\) of torch.float32, torch.sparse_coo"),
        (features_without_memory, r"torch.float32, on the device meta"),
        (other_features_later, r"forward gives \(\d+, 5\) for \d+ obs.*, 6\) as in its first call"),
    ],
)
def test_features_of_another_kind_are_named(line, change, said):
    class Net(make_net()):
        def forward(self, obs):
            return change(self, super().forward(obs))

    with pytest.raises(operant.UsageError, match=said):
        operant.train(line, policy=Net, total_env_steps=640, **SMALL)


def test_a_sparse_gradient_is_named(line):
    class Net(nn.Module):
        def __init__(self, obs_shape):
            super().__init__()
            self.table = nn.Embedding(2, 6, sparse=True)

        def forward(self, obs):
            return self.table((obs[:, 0] > 0).long())

    with pytest.raises(operant.UsageError, match=r"the gradient of table\.weight is sparse"):
        operant.train(line, policy=Net, total_env_steps=64, **SMALL)
