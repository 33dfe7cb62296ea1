"""Off-policy algorithms with multi-agent environments on a GPU, emulated by the processor."""

from __future__ import annotations

import pytest
import torch
from learning import iterate

from operant.trainer.config.from_values import make_config
from operant.trainer.experiment.build import device_experiment, processor_experiment
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.machine.threads import Threads

# Two robots of five are there, in four seas for eight steps: 64 transitions an iteration of 160.
CURRICULUM = [{"until_env_steps": 100_000, "num_robots": 2, "min_goal_distance_m": 30}]


def config_of(algorithm, *overrides, curriculum=()):
    actions = "discrete" if algorithm == "rainbow" else "continuous"
    values = {
        "env": "marine_nav", "algorithm": algorithm, "num_envs": 4, "rollout_steps": 8,
        "num_threads": 0, "total_env_steps": 160 * 8, "policy": {"hidden_sizes": [16, 16]},
        "marine_nav": {"actions": actions, "curriculum": list(curriculum)},
        "replay": {"capacity": 4_000}, "evaluation": {"num_episodes": 3},
        algorithm: {"warmup_env_steps": 100, "batch_size": 32, "updates_per_env_step": 0.1},
    }  # fmt: skip
    return make_config(values, overrides)


@pytest.fixture
def make():
    def make_one(algorithm, **options):
        return device_experiment(config_of(algorithm, **options), torch.device("cpu"))

    return make_one


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ac_iqn", "rainbow"])
def test_agents_that_are_not_there_are_not_learned_from_nor_counted(make, algorithm):
    experiment = make(algorithm, curriculum=CURRICULUM)
    before = experiment.policy.flat_parameters.clone()
    counts = [iterate(experiment) for _ in range(6)]
    # Warm after the second iteration; 6.4 updates each from then on.
    assert [int(values["updates/count"]) for values in counts] == [0, 6, 12, 19, 25, 32]
    assert counts[-1]["updates/per_env_step"] == pytest.approx(7 / 64)
    assert experiment.env_steps == 6 * 64
    assert experiment.dead_env_steps == 6 * (160 - 64)
    assert "dead env steps" not in counts[-1]
    assert not torch.equal(experiment.policy.flat_parameters, before)
    assert experiment.policy.flat_parameters.isfinite().all()
    valid = experiment.collector.rollout.valid.view(8, 4, 5)
    assert valid.all(0).tolist() == [[True] * 2 + [False] * 3] * 4
    assert len(experiment.evaluate(3).settings) == 3


@pytest.mark.slow
def test_the_steps_of_agents_are_those_of_the_processor(make):
    experiment = make("ac_iqn")
    there = processor_experiment(config_of("ac_iqn", "num_threads=1"), Threads(1))
    rollout, expected = experiment.collect(), there.collector.rollout
    # The same actions: a GPU draws those from other streams.
    for t in range(8):
        there.collector.envs.step(rollout.actions[t].numpy(), expected.transitions(t))
        assert torch.equal(rollout.obs[t + 1], expected.obs[t + 1])
        assert torch.equal(rollout.rewards[t], expected.rewards[t])
        assert torch.equal(rollout.valid[t], expected.valid[t])
        assert torch.equal(rollout.terminated[t], expected.terminated[t])
    there.close()


def test_a_run_with_agents_on_a_gpu_goes_on_exactly(make):
    straight, first, second = (make("ac_iqn", curriculum=CURRICULUM) for _ in range(3))
    iterate(straight, 5)
    iterate(first, 3)
    second.load_state_dict(first.state_dict(), 3)
    iterate(second, 2)
    list(second.finish())
    assert torch.equal(straight.policy.flat_parameters, second.policy.flat_parameters)
    assert second.env_steps == straight.env_steps
    assert list(second.iterate(Stopwatch(), wait=True))
