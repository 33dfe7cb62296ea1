"""PPO with a memory learns from rows as they were lived, with ends of episodes inside them."""

from __future__ import annotations

import pytest
import torch
from learning import collected, iterate, learn
from toy_envs import WALK, Described

from operant.trainer.algorithms.minibatches import Batch, Rows, rows_of
from operant.trainer.algorithms.on_policy import flat_gradient
from operant.trainer.algorithms.ppo import ppo_loss_sums
from operant.trainer.envs import hosts

MEMORY = ("policy.memory.size=8", "ppo.learning_rate=1e-2")
DEAD_STEPS = ("env=gymnasium:CartPole-v1", "gymnasium.vectorization=own")


@pytest.fixture(params=["processor", "device"])
def make_any(request, make_experiment, make_cuda_experiment):
    """Experiments as the processor has them, and as a GPU does, there without graphs."""
    return make_experiment if request.param == "processor" else make_cuda_experiment


@pytest.fixture
def walkers(monkeypatch):
    """Environments of several agents, some of which retire or take no part."""
    monkeypatch.setattr(hosts, "HOSTS", (Described(WALK), *hosts.HOSTS))


def ratios(experiment, rollout):
    """Probability ratios of the policy now to those of the rollout."""
    with torch.no_grad():
        algorithm = experiment.algorithm
        rows = algorithm.batch_of(rollout, rollout.values, rollout.values)
        _, outputs, _, samples = rows.evaluate(experiment.policy)
        log_probs, _ = experiment.policy.distribution.log_prob_and_entropy(outputs, samples.actions)
    return (log_probs - samples.log_probs).exp()


def ends_inside(rollout):
    """Episodes that ended neither in the last step of a row nor in its first."""
    return int(rows_of(rollout).resets[1:-1].sum())


def lived(policy, rollout):
    """Features [T, N, H] and states [T, N, S] after every step, one step after the other, from the
    state that the rollout began with.
    """
    features, states, state = [], [], rollout.states[0]
    for obs, ended in zip(rollout.obs[:-1], rollout.resets(), strict=True):
        feature, state = policy.step(obs, state)
        features.append(feature)
        states.append(state)
        state = torch.where(ended.unsqueeze(-1), 0.0, state)
    return torch.stack(features), torch.stack(states)


@pytest.mark.slow
@pytest.mark.parametrize("horizon", [0, 16])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_with_unchanged_weights_every_ratio_is_one(make_any, kind, horizon):
    experiment = make_any(
        f"policy.memory.kind={kind}", f"policy.memory.horizon={horizon}",
        "rollout_steps=32", "normalization.obs=true", "normalization.reward=true", *MEMORY,
    )  # fmt: skip
    num_ends = 0
    for _ in range(3):  # with states that came from former rollouts, and from other weights
        rollout = collected(experiment)
        num_ends += ends_inside(rollout)
        found = ratios(experiment, rollout)
        assert found.numel() == 256
        assert (found - 1).abs().max() < 1e-5
        learn(experiment)
    assert num_ends > 0
    assert rollout.states.abs().max() > 0


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_every_ratio_is_one_where_steps_are_dead(make_experiment, kind):
    experiment = make_experiment(
        *DEAD_STEPS, f"policy.memory.kind={kind}", "rollout_steps=64", "ppo.num_minibatches=2",
        "policy.memory.horizon=16", *MEMORY,
    )  # fmt: skip
    for _ in range(2):
        rollout = collected(experiment)
        assert 0 < rollout.num_valid < 512
        found = ratios(experiment, rollout)
        assert found.numel() == rollout.num_valid
        assert (found - 1).abs().max() < 1e-5
        learn(experiment)


def test_what_a_dead_step_shows_is_not_remembered(make_experiment):
    """A dead step sees the last observation of one episode; the next begins knowing nothing."""
    experiment = make_experiment(
        *DEAD_STEPS, "policy.memory.kind=lstm", "rollout_steps=64", *MEMORY
    )
    rollout = experiment.collect()
    t, env = next((t, n) for t, n in (~rollout.valid).nonzero().tolist() if t < 63)
    _, states = lived(experiment.policy, rollout)
    _, alone = experiment.policy.step(rollout.obs[t + 1], torch.zeros_like(states[0]))
    torch.testing.assert_close(states[t + 1, env], alone[env])


def test_nothing_is_learned_from_dead_steps(make_experiment):
    weights = []
    for nonsense in (0.0, 1e3):
        experiment = make_experiment(
            *DEAD_STEPS, "policy.memory.kind=gru", "normalization.obs=true",
            "normalization.reward=true", "rollout_steps=64", *MEMORY,
        )  # fmt: skip
        rollout = collected(experiment)
        dead = ~rollout.valid
        rollout.has_values = True
        for x in (rollout.rewards, rollout.obs[:-1], rollout.values, rollout.next_values):
            x[dead] = nonsense
        metrics = learn(experiment)
        assert experiment.env_steps == rollout.num_valid
        weights.append((experiment.policy.flat_parameters.clone(), metrics))
    assert torch.equal(weights[0][0], weights[1][0])
    assert weights[0][1] == weights[1][1]


def test_dead_steps_do_not_count_in_the_priorities_of_rows():
    samples = Batch(*[torch.tensor([[1.0, -2.0], [-3.0, 100.0]])] * 6)
    valid = torch.tensor([[True, True], [True, False]])
    rows = Rows(samples, torch.zeros(2, 1), torch.zeros(2, 2, dtype=torch.bool), valid)
    assert rows.part_advantages.tolist() == [4.0, 2.0]  # 1 + 3, and 2 alone
    assert rows._replace(valid=None).part_advantages.tolist() == [4.0, 102.0]


@pytest.mark.slow
def test_agents_of_one_environment_remember_each_for_itself(walkers, make_experiment):
    experiment = make_experiment("policy.memory.kind=lstm", "num_envs=6", *MEMORY)
    for _ in range(2):
        rollout = collected(experiment)
        assert rollout.states.shape == (1, 12, 16)
        # Those of every third environment that take no part at all are no rows to learn from.
        rows = experiment.algorithm.batch_of(rollout, rollout.values, rollout.values)
        assert rows.num_parts == 10
        assert (ratios(experiment, rollout) - 1).abs().max() < 1e-5
        learn(experiment)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_values_are_of_what_was_known_and_bootstraps_of_what_is_known_then(make_any, kind):
    experiment = make_any(
        f"policy.memory.kind={kind}", "policy.memory.horizon=8", "rollout_steps=32", *MEMORY
    )
    iterate(experiment)
    envs = experiment.collector.envs
    envs.state.elapsed[::2] = envs.spec.max_episode_steps - 5  # half of them are cut short
    rollout, policy = collected(experiment), experiment.policy
    assert rollout.truncated.any()
    assert rollout.terminated.any()
    with torch.no_grad():
        features, states = lived(policy, rollout)
        torch.testing.assert_close(rollout.values, policy.values(features))
        finals = torch.zeros(8, dtype=torch.int64)
        for t in range(32):
            seen = policy.values(policy.step(rollout.obs[t + 1], states[t])[0])
            for env in range(8):
                expected = seen[env]
                if rollout.truncated[t, env]:
                    place = int(finals[env]) if rollout.finals_in_order else t
                    finals[env] += 1
                    cut = rollout.final_obs[place, env].unsqueeze(0)
                    expected = policy.values(policy.step(cut, states[t, env].unsqueeze(0))[0])[0]
                if not rollout.terminated[t, env]:
                    found = rollout.next_values[t, env]
                    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_the_gradient_over_rows_is_that_of_single_steps(make_experiment, kind):
    experiment = make_experiment(f"policy.memory.kind={kind}", "rollout_steps=32", *MEMORY)
    iterate(experiment)
    rollout, policy = collected(experiment), experiment.policy
    assert ends_inside(rollout) > 0
    advantages = torch.randn(32, 8, generator=torch.Generator().manual_seed(1))
    algorithm = experiment.algorithm
    rows = algorithm.batch_of(rollout, advantages, rollout.rewards)
    _, outputs, values, samples = rows.evaluate(experiment.policy)
    features, _ = lived(policy, rollout)
    features = features.flatten(0, 1)
    gradients = []
    for pair in ((outputs, values), (policy.outputs(features), policy.values(features))):
        sums = ppo_loss_sums(policy.distribution, *pair, samples, 0.2, 0.5)
        loss = sums.policy + 0.5 * sums.value - 0.01 * sums.entropy
        gradients.append(flat_gradient(loss, algorithm.parameters))
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
    assert (gradients[0] != 0).float().mean() > 0.9
