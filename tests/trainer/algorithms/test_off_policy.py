"""Off-policy algorithms: warm-up, the replay ratio, targets, resuming."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from learning import iterate

from operant.shared.errors import ConfigError
from operant.trainer.algorithms.off_policy import ReplayRatio
from operant.trainer.algorithms.sac import FIRST_ALPHA
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import device_experiment, processor_experiment
from operant.trainer.machine.threads import Threads

SMALL = {
    "env": "pendulum", "algorithm": "sac", "num_envs": 4, "rollout_steps": 8, "num_threads": 1,
    "total_env_steps": 32 * 8, "policy": {"hidden_sizes": [16, 16]},
    "replay": {"capacity": 400}, "sac": {"warmup_env_steps": 64, "batch_size": 32},
}  # fmt: skip
DQN = {
    **SMALL, "env": "cart_pole", "algorithm": "dqn",
    "dqn": {"warmup_env_steps": 64, "batch_size": 32, "target_tau": 1.0, "target_every": 40},
}  # fmt: skip
DQN = {key: value for key, value in DQN.items() if key != "sac"}


DQN_TO_TD3 = {key: value for key, value in SMALL.items() if key != "sac"} | {"algorithm": "td3"}


@pytest.fixture
def make():
    all_threads = []

    def make_one(values, *overrides):
        all_threads.append(Threads(1))
        return processor_experiment(make_config(values, overrides), all_threads[-1])

    yield make_one
    for threads in all_threads:
        threads.close()


def parameters(experiment):
    return experiment.policy.flat_parameters.detach().clone()


@pytest.mark.parametrize("values", [SMALL, DQN])
def test_nothing_is_learned_and_all_is_random_until_warm(make, values):
    experiment = make(values)
    before = parameters(experiment)
    assert iterate(experiment)["updates/count"] == 0
    assert torch.equal(parameters(experiment), before)
    actions = experiment.collect().actions.float()
    # Of 64 random actions: even ones of two, or uniform on [-1, 1] with deviation 0.58.
    spread = float(actions.std())
    assert 0.4 < spread < 0.7
    assert iterate(experiment)["updates/count"] > 0
    assert not torch.equal(parameters(experiment), before)


@pytest.mark.parametrize(("num_envs", "steps", "ratio"), [(1, 32, 2.0), (4, 8, 0.25), (32, 1, 2.0)])
def test_the_replay_ratio_is_kept_with_any_number_of_environments(make, num_envs, steps, ratio):
    experiment = make(
        SMALL, f"num_envs={num_envs}", f"rollout_steps={steps}", f"sac.updates_per_env_step={ratio}"
    )
    # Warm after the second of 5 iterations of 32 env steps.
    assert iterate(experiment, 5)["updates/count"] == 4 * 32 * ratio


def test_a_hard_target_is_the_network_of_the_last_multiple(make):
    experiment = make(DQN, "dqn.updates_per_env_step=0.25")  # 8 updates an iteration
    algorithm = experiment.algorithm
    start = algorithm.target.flat_parameters.clone()
    iterate(experiment, 5)  # 4 x 8 = 32 updates
    assert torch.equal(algorithm.target.flat_parameters, start)
    iterate(experiment)  # 40
    assert torch.equal(algorithm.target.flat_parameters, parameters(experiment))
    iterate(experiment)
    assert not torch.equal(algorithm.target.flat_parameters, parameters(experiment))


def test_without_its_replay_a_run_refills_it_and_says_so(make):
    first = make(SMALL, "checkpoint.replay=false")
    iterate(first, 4)
    state = first.state_dict()
    assert "replay" not in state["learner"]
    second = make(SMALL, "checkpoint.replay=false")
    second.load_state_dict(state, 4)
    assert second.take_notices() == [
        "the checkpoint has no replay: 64 env steps with the policy as it is fill it anew before "
        "learning goes on"
    ]
    before = parameters(second)
    count = iterate(second)["updates/count"]
    assert second.policy.epsilon == 0
    assert torch.equal(parameters(second), before)
    assert iterate(second)["updates/count"] > count


def test_on_a_device_nothing_is_drawn_learned_or_published_of_updates_until_warm():
    config = make_config(SMALL)
    experiment = device_experiment(config, torch.device("cpu"))
    before = parameters(experiment)
    critics = experiment.algorithm.critics.flat_parameters.clone()
    alpha = float(experiment.algorithm.log_alpha)
    assert "loss/value" not in iterate(experiment)
    assert int(experiment.state_dict()["learner"]["replay"]["draws"]) == 0
    assert torch.equal(parameters(experiment), before)
    assert torch.equal(experiment.algorithm.critics.flat_parameters, critics)
    assert torch.equal(experiment.algorithm.target_critics.flat_parameters, critics)
    assert float(experiment.algorithm.log_alpha) == alpha
    assert iterate(experiment)["loss/value"] > 0
    assert not torch.equal(parameters(experiment), before)


def test_a_replay_that_does_not_fit_is_refused_with_what_it_needs(make):
    with pytest.raises(ConfigError, match=r"needs 232\.8 GiB of memory, .* are free: ") as caught:
        make(SMALL, "replay.capacity=10000000000")
    assert "\n" not in str(caught.value)


def test_errors_that_are_no_numbers_are_said_once_and_leave_priorities(make):
    experiment = make(SMALL, "replay.priority_exponent=0.6")
    iterate(experiment, 3)
    with torch.no_grad():
        experiment.algorithm.critics.flat_parameters.fill_(torch.nan)
    experiment.take_notices()
    iterate(experiment, 2)
    priorities, gradient = sorted(experiment.take_notices())
    assert "update of priorities was refused" in priorities
    assert gradient == (
        "an update was skipped, since its gradient was not finite: its observations, actions and "
        "rewards are finite, so NaN or infinity came from the networks; updates/skipped counts "
        "such updates"
    )
    assert torch.isfinite(experiment.algorithm.replay.metrics()["replay/mean_priority"])


@pytest.mark.parametrize("algorithm", ["sac", "tqc", "ac_iqn", "dqn"])
def test_samples_count_in_the_gradient_by_their_weights(make, algorithm):
    base = DQN if algorithm == "dqn" else {key: x for key, x in SMALL.items() if key != "sac"}
    section = {"warmup_env_steps": 64, "batch_size": 32}
    experiment = make({**base, "algorithm": algorithm, algorithm: section})
    iterate(experiment, 2)
    learner, found = experiment.algorithm, []
    network = learner.network if algorithm == "dqn" else learner.critics
    sample, gradient = learner.replay.sample, network.gradient

    def weighted(batch, *arguments):
        drawn = sample(batch, *arguments)
        drawn.weights.fill_(weight)
        return drawn

    def watched(tape, slopes):
        found.append(float(slopes.abs().max()))
        return gradient(tape, slopes)

    learner.replay.sample, network.gradient = weighted, watched
    weight = 1.0
    iterate(experiment)
    assert min(found) > 0
    found.clear()
    weight = 0.0
    iterate(experiment)
    assert found
    assert max(found) == 0


@pytest.mark.parametrize("most_steps", [500, 2])
def test_overestimation_is_what_values_are_above_the_returns_that_followed(make, most_steps):
    experiment = make(DQN, "dqn.gamma=0.9", f"evaluation.max_episode_steps={most_steps}")
    with torch.no_grad():
        experiment.policy.flat_parameters.zero_()
        experiment.policy.network.layers.biases[-1].fill_(25.0)
    found = experiment.evaluate(10)
    # Poles that are never balanced fall after L steps: 1 + 0.9 + ... = 10 (1 - 0.9^L). Where time
    # is up before, what is left is asked of the values: 1 + 0.9 + 0.81 * 25.
    returns = 10 * (1 - 0.9**found.lengths) if most_steps == 500 else 1.9 + 20.25
    assert found.details["value/overestimation"] == pytest.approx(25 - np.mean(returns))


def test_noise_that_depends_on_the_state_is_kept_for_a_collection(make):
    experiment = make(SMALL, "sac.exploration=state_dependent", "sac.exploration_std=0.5")
    iterate(experiment, 3)  # until it is warm
    matrices = experiment.policy.network.matrices
    rollout = experiment.collect()
    used = matrices.clone()
    with torch.no_grad():
        found = experiment.policy.network.explored(rollout.obs[5]).tanh()
    torch.testing.assert_close(rollout.actions[5], found)
    experiment.collect()
    assert not torch.equal(matrices, used)
    assert matrices.shape == (4, 16, 1)


def with_nan(experiment, field):
    """Have all minibatches hold a number that is none."""
    replay = experiment.algorithm.replay
    sample = replay.sample

    def sample_with_nan(batch, *arguments):
        drawn = sample(batch, *arguments)
        getattr(drawn, field)[0] = torch.nan
        return drawn

    replay.sample = sample_with_nan


@pytest.mark.parametrize("values", [SMALL, DQN])
@pytest.mark.parametrize(("field", "name"), [("returns", "rewards"), ("obs", "observations")])
def test_an_update_that_is_no_number_moves_nothing_and_says_where_that_came_from(
    make, values, field, name
):
    experiment = make(values)
    iterate(experiment, 2)
    with_nan(experiment, field)
    before = parameters(experiment)
    experiment.take_notices()
    assert iterate(experiment)["updates/skipped"] == 32
    assert torch.equal(parameters(experiment), before)
    (said,) = [each for each in experiment.take_notices() if "gradient was not finite" in each]
    assert said == (
        f"an update was skipped, since its gradient was not finite: the {name} of its minibatch "
        "are not finite; updates/skipped counts such updates"
    )
    iterate(experiment)
    assert not experiment.take_notices()  # once


@pytest.mark.parametrize(("target", "rises"), [(50, True), (-50, False)])
def test_alpha_pays_more_for_entropy_while_there_is_too_little(make, target, rises):
    experiment = make(SMALL, f"sac.target_entropy={target}")
    iterate(experiment, 4)
    assert (float(experiment.algorithm.alpha) > FIRST_ALPHA) == rises


def test_an_alpha_that_is_a_number_stays(make):
    experiment = make(SMALL, "sac.alpha=0.5")
    iterate(experiment, 4)
    assert float(experiment.algorithm.alpha) == 0.5


def test_the_actor_and_the_targets_move_with_every_second_update_of_td3(make):
    experiment = make({**DQN_TO_TD3, "td3": {"warmup_env_steps": 64, "batch_size": 32}})
    iterate(experiment, 2)
    algorithm, seen = experiment.algorithm, []

    def remember():
        networks = (algorithm.policy, algorithm.target_critics, algorithm.critics)
        seen.append([network.flat_parameters.detach().clone() for network in networks])

    algorithm._tick = remember
    iterate(experiment)
    moved = [
        [not torch.equal(a, b) for a, b in zip(one, other, strict=True)]
        for one, other in itertools.pairwise(seen)
    ]
    # From the first update to the second all move, from the second to the third the critics alone.
    assert moved[:4] == [[True, True, True], [False, False, True]] * 2


def test_the_noise_of_targets_is_clipped(make):
    values = {"warmup_env_steps": 64, "batch_size": 32, "smoothing_std": 1, "smoothing_clip": 0.05}
    algorithm = make({**DQN_TO_TD3, "td3": values}).algorithm
    algorithm.target_actor.flat_parameters.zero_()
    actions = algorithm.next_actions(torch.zeros(32, 3))
    assert float(actions.abs().max()) == pytest.approx(0.05)
    assert len(actions.unique()) > 2


@pytest.mark.parametrize("double", [True, False])
def test_targets_are_those_of_all_of_the_return_whatever_the_risk(make, double):
    found = []
    for risk in (1.0, 0.1):
        section = {"warmup_env_steps": 64, "batch_size": 32, "double": double, "risk": risk}
        values = {key: value for key, value in DQN.items() if key != "dqn"}
        experiment = make({**values, "algorithm": "iqn", "iqn": section})
        iterate(experiment, 2)  # random actions until now
        found.append(parameters(experiment))
    assert torch.equal(*found)


@given(
    ratio=st.sampled_from([0.0625, 0.1, 0.3, 1.0, 2.5]), at_once=st.integers(1, 3),
    counts=st.lists(st.integers(0, 500), max_size=30),
)  # fmt: skip
def test_no_transition_is_forgotten_by_the_replay_ratio(ratio, at_once, counts):
    replay_ratio = ReplayRatio(ratio, at_once)
    dues = [replay_ratio.due(count) for count in counts]
    assert all(due >= 0 and due % at_once == 0 for due in dues)
    # Whole multiples of what all transitions are worth together.
    left = ratio * sum(counts) - sum(dues)
    assert -1e-3 < left < at_once + 1e-3
