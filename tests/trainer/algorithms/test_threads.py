"""Several threads make updates from replay faster, and nothing else of them."""

from __future__ import annotations

import pytest
import torch
from learning import REPLAY_ENVS, iterate

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import make_experiment, processor_experiment
from operant.trainer.machine.threads import Threads, available_cores


def config_of(algorithm, num_threads, rollout_steps=4, batch_size=512):
    return make_config(
        {
            "env": REPLAY_ENVS[algorithm], "algorithm": algorithm, "num_threads": num_threads,
            "num_envs": 8, "rollout_steps": rollout_steps,
            "total_env_steps": 8 * rollout_steps * 100,
            "policy": {"hidden_sizes": [256, 256], "activation": "relu"},
            "replay": {"capacity": 4000}, "evaluation": {"num_episodes": 0},
            algorithm: {
                "warmup_env_steps": batch_size, "batch_size": batch_size,
                "updates_per_env_step": 1 / 16,
            },
        }
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", REPLAY_ENVS)
def test_weights_are_the_same_with_any_number_of_threads(algorithm):
    found = []
    for num_threads in (1, 2):
        threads = Threads(num_threads)
        experiment = processor_experiment(config_of(algorithm, num_threads), threads)
        iterate(experiment, 24)
        found.append(experiment.policy.flat_parameters.detach().clone())
        assert torch.get_num_threads() == 1
        experiment.close()
    assert torch.equal(*found)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
@pytest.mark.parametrize("encoder", ["minatar", "impala"])
def test_networks_for_images_are_the_same_with_any_number_of_threads(algorithm, encoder):
    section = {"num_minibatches": 1} if algorithm == "ppo" else {
        "warmup_env_steps": 64, "batch_size": 64, "updates_per_env_step": 1 / 16,
    }  # fmt: skip
    values = {
        "env": "minatar_breakout", "algorithm": algorithm, "num_envs": 16, "rollout_steps": 16,
        "total_env_steps": 25_600, "policy": {"encoder": encoder, "hidden_sizes": []},
        "evaluation": {"num_episodes": 0}, algorithm: section,
    }  # fmt: skip
    found = []
    for num_threads in (1, 2):
        config = make_config({**values, "num_threads": num_threads})
        experiment = processor_experiment(config, Threads(num_threads))
        iterate(experiment, 3)
        assert experiment.algorithm.uses_threads
        found.append(experiment.policy.flat_parameters.detach().clone())
        experiment.close()
    assert torch.equal(*found)


@pytest.mark.slow
@pytest.mark.skipif(available_cores() < 2, reason="there is no other number to try")
def test_their_number_is_chosen_by_iterations_that_learn():
    experiment = make_experiment(config_of("dqn", 0, rollout_steps=2))
    settled = []
    for _ in range(80):
        iterate(experiment)
        settled.append(experiment.executor.thread_choice.is_settled)
    experiment.close()
    assert not any(settled[:31])  # these only fill the replay
    assert settled[-1]


def test_sums_that_depend_on_the_number_of_threads_have_one():
    small, large = (
        processor_experiment(config_of("dqn", 2, batch_size=size), Threads(2))
        for size in (512, 1024)
    )
    assert small.algorithm.uses_threads
    assert not large.algorithm.uses_threads
