"""It learns: returns reached with fixed seeds. The long form is `make learn`."""

from __future__ import annotations

import pytest

from operant.trainer.config_file import load_config
from operant.trainer.experiment import Experiment
from operant.trainer.threads import Threads


@pytest.mark.parametrize("seed", [1, 2])
def test_cart_pole_is_solved_by_the_smoke_preset(seed):
    config = load_config("cart_pole_ppo_smoke", [f"seed={seed}", "num_threads=2"])
    experiment = Experiment(config, threads := Threads(2))
    for _ in range(config.num_iterations):
        experiment.learn(experiment.collector.collect())
    assert experiment.evaluate(50).returns.mean() >= 475
    threads.close()


def test_cart_pole_is_solved_by_pytorch_in_bfloat16():
    config = load_config("cart_pole_ppo_smoke", ["num_threads=1", "policy.precision=bfloat16"])
    experiment = Experiment(config, threads := Threads(1))
    for _ in range(config.num_iterations):
        experiment.learn(experiment.collector.collect())
    assert experiment.why_pytorch
    assert experiment.evaluate(50).returns.mean() >= 475
    threads.close()


def test_it_does_not_learn_from_noise():
    """The same, with rewards that have nothing to do with the actions."""
    config = load_config("cart_pole_ppo_smoke", ["num_threads=2", "total_env_steps=40000"])
    experiment = Experiment(config, threads := Threads(2))
    for _ in range(config.num_iterations):
        rollout = experiment.collector.collect()
        rollout.rewards.zero_()
        experiment.learn(rollout)
    assert experiment.evaluate(50).returns.mean() < 200
    threads.close()
