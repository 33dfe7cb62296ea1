"""Weights that are no longer numbers end a run, with what they come from."""

from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
import torch
from learning import differing, iterate

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.files import make_config
from operant.trainer.diverged import DivergedError, check_weights
from operant.trainer.loop import train
from operant.trainer.making import processor_experiment
from operant.trainer.run.checkpoints import list_checkpoints, load_checkpoint
from operant.trainer.run.telemetry import metrics_of
from operant.trainer.run.threads import Threads


class Bad(gymnasium.Env):
    """Sixteen steps an episode; something in the third of all is not a number."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reward=1.0, seen=0.0):
        self.reward, self.seen, self.num_episodes = reward, seen, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.num_episodes, self.count = self.num_episodes + 1, 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.count += 1
        is_bad = (self.num_episodes, self.count) == (3, 10)
        obs = np.array([0.5, self.seen if is_bad else 0.0], np.float32)
        return obs, self.reward if is_bad else 1.0, False, self.count == 16, {}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reward": float("nan")}, "an environment gave the reward nan (in step 9 of row 0"),
        ({"reward": float("inf")}, "an environment gave the reward inf (in step 9 of row 0"),
        # Of the observation that the step led to, which the next one begins with.
        ({"seen": float("nan")}, "an environment gave the observation nan (in step 10 of row 0"),
    ],
)
@pytest.mark.parametrize("memory", ["none", "gru"])
def test_a_number_that_is_not_finite_costs_an_update_and_is_told(
    small_config, operant_pages, tmp_path, monkeypatch, given, told, memory
):
    monkeypatch.setattr("gymnasium.envs.registration.registry", {})
    gymnasium.register("operant/Bad-v0", lambda **_: Bad(**given), disable_env_checker=True)
    config = small_config(
        "env=gymnasium:operant/Bad-v0", "num_envs=1", "rollout_steps=32", "total_env_steps=320",
        "ppo.num_minibatches=1", "checkpoint.every_iterations=1", "checkpoint.keep=99",
        "evaluation.every_iterations=0", f"policy.memory.kind={memory}",
    )  # fmt: skip
    page = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(config), publish_interval_s=1
    )
    assert train(config, page, tmp_path)
    reader = MetricsReader.attach(operant_pages / "p")
    (event,) = [x.text for x in reader.events() if "moved nothing" in x.text]
    assert f"which comes from {told}" in event
    # Two episodes are one rollout; the bad one is in the second.
    policies = [load_checkpoint(path).state["policy"] for path in list_checkpoints(tmp_path)]
    moved = [bool(differing(a, b)) for a, b in itertools.pairwise(policies)]
    assert moved[:2] == [False, True]
    assert all(x.isfinite().all() for x in policies[-1].values())


def test_weights_that_are_not_the_policys_count_as_well(make_experiment):
    config = make_config({
        "env": "pendulum", "algorithm": "sac", "num_envs": 4, "rollout_steps": 8,
        "num_threads": 1, "replay": {"capacity": 4000},
    })  # fmt: skip
    threads = Threads(1)
    experiment = processor_experiment(config, threads)
    experiment.algorithm.log_alpha.fill_(torch.nan)
    with pytest.raises(DivergedError, match=r"^weights of critics, targets or alpha are no longer"):
        check_weights(experiment, {"loss/value": float("nan")})
    threads.close()


def test_updates_that_go_too_far_are_told_apart(make_experiment):
    experiment = make_experiment()
    iterate(experiment)
    with torch.no_grad():
        experiment.policy.flat_parameters[3] = float("inf")
    with pytest.raises(DivergedError, match=r"since iteration 1: .* a smaller learning rate"):
        check_weights(experiment, {"loss/policy": 0.1, "loss/value": float("nan")})


def test_an_update_that_was_skipped_ends_nothing(make_experiment):
    experiment = make_experiment()
    check_weights(experiment, {"loss/policy": float("nan")})
