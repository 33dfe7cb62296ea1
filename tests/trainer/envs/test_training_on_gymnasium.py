"""Training on Gymnasium's environments: their processes, episodes without end, going on."""

from __future__ import annotations

import gymnasium
import numpy as np
import psutil
import pytest
import torch
from learning import iterate

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.files import load_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.running.loop import train


class Endless(gymnasium.Env):
    """Pays 1 at every step, and never ends."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 1.0, False, False, {}


WORKERS = ("env=gymnasium:CartPole-v1", "workers.num_workers=2", "num_envs=2")


@pytest.mark.slow
def test_evaluation_leaves_no_processes(make_experiment):
    others = set(psutil.Process().children())  # of an earlier test
    experiment = make_experiment(*WORKERS)
    before = set(psutil.Process().children())
    assert len(before - others) >= 2
    experiment.evaluate(3)
    assert set(psutil.Process().children()) == before
    experiment.close()
    assert set(psutil.Process().children()) <= others


@pytest.mark.slow
def test_training_leaves_no_processes_however_it_ends(small_config, operant_pages, tmp_path):
    def fails(*_):
        raise RuntimeError("on purpose")

    config = small_config(*WORKERS, "num_threads=0", "evaluation.num_episodes=0")
    page = MetricsWriter.create(
        operant_pages / "p", "run", metrics_of(load_config()), publish_interval_s=1
    )
    before = set(psutil.Process().children())
    with pytest.raises(RuntimeError, match="on purpose"):
        train(config, page, tmp_path, report=fails)
    assert set(psutil.Process().children()) <= before


class Counted(Endless):
    """Counts the steps of all its copies."""

    num_steps = 0

    def step(self, action):
        Counted.num_steps += 1
        return super().step(action)


@pytest.fixture
def train_on(small_config, operant_pages, tmp_path):
    def run(env, *overrides) -> MetricsReader:
        gymnasium.register("Own-v0", env)
        config = small_config("env=gymnasium:Own-v0", *overrides)
        metrics = metrics_of(load_config())
        page = MetricsWriter.create(operant_pages / "p", "run", metrics, publish_interval_s=1)
        train(config, page, tmp_path)
        return MetricsReader.attach(operant_pages / "p")

    yield run
    del gymnasium.registry["Own-v0"]


def test_an_episode_without_end_is_cut_off_and_said(train_on):
    reader = train_on(Endless, "evaluation.max_episode_steps=10")
    assert reader.read().metrics["evaluation/return"] == 10.0
    assert (
        "evaluation: 5 of 5 episodes had no end and were cut off at "
        "evaluation.max_episode_steps = 10"
    ) in [event.text for event in reader.events() if event.level == "warning"]


def test_an_environment_takes_only_the_steps_that_the_run_counts(train_on):
    reader = train_on(Counted, "num_threads=0", "evaluation.num_episodes=0")
    assert Counted.num_steps == reader.read().env_steps > 0


def test_a_resumed_run_plays_other_episodes_and_forgets_sums_of_those_before(make_experiment):
    overrides = ["env=gymnasium:CartPole-v1", "normalization.reward=true"]
    first = make_experiment(*overrides)
    began = first.collector.rollout.obs[-1].clone()
    iterate(first)
    assert first.algorithm.rewards.normalizer.returns.abs().sum() > 0
    second = make_experiment(*overrides)
    second.load_state_dict(first.state_dict(), 1)
    assert not torch.equal(second.collector.rollout.obs[-1], began)
    assert second.algorithm.rewards.normalizer.returns.tolist() == [0.0] * 8
    assert (
        second.algorithm.rewards.normalizer.moments.count
        == first.algorithm.rewards.normalizer.moments.count
    )
