"""Small examples of operant's asynchronous work on a GPU, to run under a hundred schedules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpu_runs
import torch

from operant.trainer.config.from_values import make_config
from operant.trainer.config.train_config import TrainConfig
from operant.trainer.experiment.experiment import Experiment

# Longer than there are slots for metrics under way.
NUM_ITERATIONS = 5
PPO = {"algorithm": "ppo", "env": "cart_pole", "ppo": {"num_minibatches": 3, "num_epochs": 2}}
SIZES = {
    "num_envs": 6, "rollout_steps": 4, "total_env_steps": 24 * 20,
    "policy": {"hidden_sizes": [8]}, "normalization": {"obs": True, "reward": True},
    "evaluation": {"num_episodes": 2, "max_episode_steps": 8},
}  # fmt: skip
REPLAY = {
    **SIZES, "algorithm": "dqn", "env": "cart_pole", "normalization": {"obs": True},
    "dqn": {"warmup_env_steps": 30, "batch_size": 4, "updates_per_env_step": 0.125},
}  # fmt: skip
States = list[dict[str, torch.Tensor]]


@dataclass
class Outcome:
    """All that the host gets to see of a run: numbers as text, and states by path."""

    text: str
    states: States


def metrics(config: TrainConfig, device: str) -> Outcome:
    run = gpu_runs.make_run(config, device)
    return outcome(gpu_runs.iterate(run, NUM_ITERATIONS), run)


def checkpoint(config: TrainConfig, device: str) -> Outcome:
    """One is taken while the run goes on, and another run goes on from there."""
    run = gpu_runs.make_run(config, device)
    values = gpu_runs.iterate(run, 3)
    taken = gpu_runs.saved(run)
    values += gpu_runs.iterate(run, 2)
    other = gpu_runs.loaded(config, device, taken)
    values += gpu_runs.iterate(other, 3)
    return outcome(values, run, other)


def evaluation(config: TrainConfig, device: str) -> Outcome:
    """Between iterations, twice."""
    run = gpu_runs.make_run(config, device)
    values: list[Any] = []
    for _ in range(2):
        values += [*gpu_runs.iterate(run, 3, wait=True), gpu_runs.evaluated(run, 2)]
    return outcome(values, run)


def outcome(values: Any, *runs: Experiment) -> Outcome:
    return Outcome(str(values), [gpu_runs.flat_state(run.state_dict()) for run in runs])


def differences(one: Outcome, other: Outcome) -> list[str]:
    found = [] if one.text == other.text else ["metrics"]
    for first, second in zip(one.states, other.states, strict=True):
        found += first.keys() ^ second.keys()
        for name in first.keys() & second.keys():
            if not torch.equal(*(x[name].nan_to_num(-12345.0) for x in (first, second))):
                found.append(name)
    return found


@dataclass
class Subject:
    settings: dict[str, Any]
    do: Callable[[TrainConfig, str], Outcome] = metrics

    def on(self, device: str) -> Outcome:
        return self.do(make_config(self.settings), device)


ON_HOST = {"replay": {"capacity": 240, "memory": "host"}}
SUBJECTS = {
    "staged metrics": Subject({**SIZES, **PPO}),
    "pinned replay": Subject({**REPLAY, **ON_HOST}),
    "overlapping rollouts": Subject({**SIZES, **PPO, "overlap": True}),
    "checkpoint": Subject({**SIZES, **PPO, "overlap": True}, checkpoint),
    "checkpoint of pinned memory": Subject({**REPLAY, **ON_HOST}, checkpoint),
    "evaluation": Subject({**SIZES, **PPO, "overlap": True}, evaluation),
}
