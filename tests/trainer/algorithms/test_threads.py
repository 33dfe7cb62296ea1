"""Several threads make updates from replay faster, and nothing else of them."""

from __future__ import annotations

import pytest
import torch
from learning import iterate

from operant.trainer.config.files import make_config
from operant.trainer.making import make_experiment, processor_experiment
from operant.trainer.run.threads import Threads

ENVS = {
    "dqn": "cart_pole", "c51": "cart_pole", "qr_dqn": "cart_pole", "iqn": "cart_pole",
    "rainbow": "cart_pole", "ddpg": "pendulum", "td3": "pendulum", "sac": "pendulum",
    "ac_iqn": "pendulum",
}  # fmt: skip


def config_of(algorithm, num_threads, rollout_steps=4):
    return make_config(
        {
            "env": ENVS[algorithm], "algorithm": algorithm, "num_threads": num_threads,
            "num_envs": 8, "rollout_steps": rollout_steps,
            "total_env_steps": 8 * rollout_steps * 100,
            "policy": {"hidden_sizes": [256, 256], "activation": "relu"},
            "replay": {"capacity": 4000}, "evaluation": {"num_episodes": 0},
            algorithm: {
                "warmup_env_steps": 512, "batch_size": 512, "updates_per_env_step": 1 / 16,
            },
        }
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", ENVS)
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


def test_their_number_is_chosen_by_iterations_that_learn():
    experiment = make_experiment(config_of("dqn", 0, rollout_steps=2))
    notices = []
    for _ in range(40):  # 16 that are timed, and three trials with each number
        iterate(experiment)
        notices += experiment.take_notices()
    experiment.close()
    assert [notice for notice in notices if notice.startswith("threads: ")]
