"""A run goes on until its env steps are there, also if some steps of its rollouts are dead."""

from __future__ import annotations

import gymnasium
import pytest
import torch
from exact_envs import Exact
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import SyncVectorEnv
from learning import go_on, iterate

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.experiment.build import device_experiment
from operant.trainer.machine.staged_values import StagedValues
from operant.trainer.running import loop
from operant.trainer.running.loop import train

# Of the three agents one retires after 2, 3 and 4 steps each: 9 of 12 rows are env steps. A vector
# environment that resets itself in the next step has a dead one after each episode.
HOSTS = {
    "agents": ("env=pettingzoo:parallel_envs", "num_envs=2"),
    "vector": ("env=gymnasium:Dead-v0", "gymnasium.vectorization=own", "num_envs=4"),
}
BUDGET = (
    "total_env_steps=400",
    "ppo.learning_rate_schedule=linear",
    "rollout_steps=8",
    "evaluation.num_episodes=2",
)


@pytest.fixture(params=HOSTS)
def settings(request, monkeypatch):
    def make(num_envs):
        return SyncVectorEnv([lambda: Exact("discrete")] * num_envs)

    spec = EnvSpec("Dead-v0", vector_entry_point=make)
    monkeypatch.setitem(gymnasium.registry, "Dead-v0", spec)
    return (*HOSTS[request.param], *BUDGET)


def test_progress_counts_env_steps_and_is_the_same_after_resuming(settings, make_experiment):
    experiment, rates = make_experiment(*settings), []
    while not experiment.is_complete:
        rates.append(iterate(experiment)["optimizer/learning_rate"])
        if experiment.iteration == 3:
            resumed = make_experiment(*settings)
            go_on(experiment, resumed)
            assert resumed._progress_fraction == experiment._progress_fraction
            assert resumed._progress_fraction < 3 / experiment.num_iterations
            resumed.close()
    experiment.close()
    assert experiment.dead_env_steps > 0
    assert 400 <= experiment.env_steps < 400 + experiment.rollout_size
    assert experiment.iteration > experiment.num_iterations
    # The rate goes down to the end, and not below 0.
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) == len(rates)
    assert 0 < rates[-1] < rates[0] / 4


def test_the_last_row_is_at_100_percent_and_evaluates_once(
    settings, small_config, operant_pages, tmp_path
):
    config = small_config(*settings, "evaluation.every_iterations=0")
    writer = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(load_config()), publish_interval_s=1
    )
    rows = []
    assert train(config, writer, tmp_path, report=lambda *row: rows.append(row))
    values, _, env_steps = rows[-1]
    assert values["progress/fraction"] == 1.0
    assert 400 <= env_steps < 400 + config.rollout_size
    events = MetricsReader.attach(operant_pages / "p").events()
    assert len([each for each in events if "mean return of the evaluation" in each.text]) == 1


@pytest.mark.slow
def test_what_a_device_has_not_answered_yet_is_waited_for_at_the_end(
    operant_pages, tmp_path, monkeypatch
):
    def taken_late(self):
        return [] if self.has_room else list(take(self))

    take = StagedValues.take
    monkeypatch.setattr(StagedValues, "take", taken_late)
    monkeypatch.setattr(
        loop, "make_experiment", lambda config, *_: device_experiment(config, torch.device("cpu"))
    )
    # Two robots of five are there: 64 env steps an iteration of 160.
    curriculum = [{"until_env_steps": 100_000, "num_robots": 2, "min_goal_distance_m": 30}]
    config = make_config({
        "env": "marine_nav", "num_envs": 4, "rollout_steps": 8, "total_env_steps": 640,
        "num_threads": 1, "policy": {"hidden_sizes": [16]}, "evaluation": {"num_episodes": 0},
        "marine_nav": {"curriculum": curriculum, "actions": "discrete"}, "algorithm": "dqn",
        "dqn": {"warmup_env_steps": 600, "batch_size": 32}, "replay": {"capacity": 4_000},
    })  # fmt: skip
    writer = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(load_config()), publish_interval_s=1
    )
    rows = []
    assert train(config, writer, tmp_path, report=lambda *row: rows.append(row))
    assert rows[-1][2] == 640
