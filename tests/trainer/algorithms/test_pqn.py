"""PQN: the loss, and exploring less as the run goes on."""

from __future__ import annotations

import pytest
import torch
from learning import iterate

from operant.trainer.algorithms.pqn import PQN
from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.machine.threads import Threads


class Table:
    """Q-values that are what they are: a row for each observation."""

    def values(self, obs):
        return obs


def test_the_loss_is_half_the_squared_error_of_the_actions_taken():
    rows = torch.tensor([[1.0, 5.0], [2.0, 7.0]])
    loss, mean = PQN.loss(Table(), rows, torch.tensor([0, 1]), torch.tensor([3.0, 6.0]))
    # errors 1 - 3 and 7 - 6: (4 + 1) / 2 / 2 = 1.25; values 1 and 7: 4
    assert (float(loss), float(mean)) == (1.25, 4.0)


def test_epsilon_falls_to_its_end_and_stays_there():
    config = make_config(
        {
            "algorithm": "pqn", "num_envs": 8, "rollout_steps": 16, "num_threads": 1,
            "total_env_steps": 8 * 16 * 8,
            "pqn": {"epsilon_start": 0.9, "epsilon_end": 0.1, "epsilon_fraction": 0.5},
        }
    )  # fmt: skip
    threads = Threads(1)
    experiment = processor_experiment(config, threads)
    found = [iterate(experiment)["exploration/epsilon"] for _ in range(6)]
    # 0.8 to lose over half of eight iterations: 0.2 an iteration
    assert found == pytest.approx([0.9, 0.7, 0.5, 0.3, 0.1, 0.1])
    threads.close()
