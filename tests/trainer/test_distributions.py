"""Samples, probabilities and entropies belong to one and the same distribution."""

from __future__ import annotations

import torch

from operant.trainer.distributions import Categorical
from operant.trainer.envs.spec import Discrete

CATEGORICAL = Categorical(Discrete(3))
OUTPUTS = torch.tensor([[0.0, 1.0, 2.0], [5.0, 5.0, -5.0]])


def test_actions_come_as_often_as_their_probability_says():
    count = 100_000
    noise = CATEGORICAL.noise((count,), torch.Generator().manual_seed(1))
    for row in OUTPUTS:
        actions = CATEGORICAL.sample(row.expand(count, 3), noise)
        found = torch.bincount(actions, minlength=3) / count
        torch.testing.assert_close(found, row.softmax(-1), atol=0.005, rtol=0)


def test_log_probabilities_and_entropy_are_those_of_torchs_own():
    theirs = torch.distributions.Categorical(logits=OUTPUTS)
    for action in range(3):
        actions = torch.full((2,), action)
        log_prob, entropy = CATEGORICAL.log_prob_and_entropy(OUTPUTS, actions)
        torch.testing.assert_close(log_prob, theirs.log_prob(actions))
        torch.testing.assert_close(entropy, theirs.entropy())


def test_every_noise_gives_an_action_that_exists():
    outputs = torch.tensor([[0.1, 0.2, -30.0]]).expand(3, 3)
    noise = torch.tensor([0.0, 0.5, 1.0 - 2**-24])
    assert CATEGORICAL.sample(outputs, noise).tolist()[0] == 0
    assert CATEGORICAL.sample(outputs, noise).max() <= 2


def test_the_mode_is_the_likeliest_action():
    assert CATEGORICAL.mode(OUTPUTS).tolist() == [2, 0]
