"""It learns: returns reached with fixed seeds. The long form is `make learn`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from learning import collected, iterate, learn
from torch import Tensor

from operant.trainer.config.files import load_config
from operant.trainer.experiment.build import processor_experiment
from operant.trainer.experiment.plan import is_compiled
from operant.trainer.machine.threads import Threads

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_cart_pole_is_solved_by_compiled_loops_and_by_pytorch_in_bfloat16(precision):
    overrides = ["num_threads=1", f"policy.precision={precision}"]
    config = load_config("cart_pole_ppo_smoke", overrides)
    assert is_compiled(config.facts()) == (precision == "float32")
    experiment = processor_experiment(config, threads := Threads(1))
    for _ in range(config.num_iterations):
        iterate(experiment)
    assert experiment.evaluate(50).returns.mean() >= 475
    threads.close()


def pendulum_return(env_steps: int, change_rewards: Callable[[Tensor], None]) -> float:
    """Trains on Pendulum for so many env steps; the mean return of 1000 greedy episodes."""
    config = load_config("pendulum_ppo", [f"total_env_steps={env_steps}", "num_threads=1"])
    experiment = processor_experiment(config, threads := Threads(1))
    for _ in range(config.num_iterations):
        rollout = collected(experiment)
        change_rewards(rollout.rewards)
        learn(experiment)
    mean = float(experiment.evaluate(1000).returns.mean())
    threads.close()
    return mean


def test_it_does_not_learn_from_shuffled_rewards_what_it_learns_from_true_ones():
    """Shuffled within each rollout, rewards are as large as before and say nothing of actions."""
    generator = torch.Generator().manual_seed(1)

    def shuffle(rewards: Tensor) -> None:
        order = torch.randperm(rewards.numel(), generator=generator)
        rewards.copy_(rewards.flatten()[order].reshape(rewards.shape))

    assert pendulum_return(250_000, lambda _: None) > -500
    assert pendulum_return(250_000, shuffle) < -900
