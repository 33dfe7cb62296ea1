"""Experiments, an iteration at a time."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from operant.shared import MetricsWriter
from operant.trainer.algorithms.minibatches import fill_values
from operant.trainer.config import TrainConfig
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.experiment.checkpoints import Checkpoint, latest_checkpoint
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.memory.rollout import Rollout
from operant.trainer.running.loop import train
from operant.trainer.running.signals import Requests

# What an experiment of tinyphysics cannot do without.
TINYPHYSICS = (
    "env=tinyphysics", "num_envs=10", "rollout_steps=400", "policy.distribution=beta",
)  # fmt: skip


# For every algorithm that learns from replay, an environment with actions that it can choose.
REPLAY_ENVS = {
    name: "cart_pole" if "Discrete" in section.action_kinds else "pendulum"
    for name, section in algorithm_sections().items()
    if "replay" in section.tables
}


class StopWhen(Requests):
    """Requests a stop as soon as `condition` holds."""

    def __init__(self, condition: Callable[[], bool]) -> None:
        super().__init__()
        self._condition = condition

    @property
    def stop(self) -> bool:
        return self._condition()


def iterate(experiment: Experiment, count: int = 1) -> dict[str, float]:
    """So many iterations; returns the metrics of the last."""
    values: dict[str, float] = {}
    for _ in range(count):
        values = list(experiment.iterate(Stopwatch(), wait=True))[-1]
    return values


def go_on(half: Experiment, rest: Experiment) -> None:
    """Load the state of `half` into `rest`, as a checkpoint saves it."""
    saved = io.BytesIO(saved_state(half))
    rest.load_state_dict(torch.load(saved, weights_only=True), half.iteration)


def saved_state(experiment: Experiment) -> bytes:
    """The state of an experiment as a checkpoint saves it."""
    saved = io.BytesIO()
    torch.save(experiment.state_dict(), saved)
    return saved.getvalue()


def learn(experiment: Experiment) -> dict[str, float]:
    """An iteration with the rollout as it is; returns its metrics."""
    with mock.patch.object(experiment, "collect"):
        return iterate(experiment)


def collected(experiment: Experiment) -> Rollout:
    """A rollout with its values."""
    rollout = experiment.collect()
    if not rollout.has_values:
        fill_values(experiment.policy, rollout)
    return rollout


@torch.no_grad()
def ratios(experiment: Experiment, rollout: Rollout) -> torch.Tensor:
    """Probabilities of a rollout's actions by the policy as it is, relative to the kept ones."""
    batch = experiment.algorithm.batch_of(rollout, rollout.rewards, rollout.rewards)
    evaluation = batch.evaluate(experiment.policy)
    samples, distribution = evaluation.samples, experiment.policy.distribution
    log_probs, _ = distribution.log_prob_and_entropy(evaluation.outputs, samples.actions)
    return (log_probs - samples.log_probs).exp()


def num_steps_by_target_kl(make_experiment: Callable[..., Experiment]) -> dict[str, int]:
    """Optimizer steps of an update of five epochs, where each step changes the policy too much, and
    where none does.
    """
    steps = {}
    for target in ("1e-9", "1e9"):
        experiment = make_experiment("ppo.num_epochs=5", f"ppo.target_kl={target}")
        iterate(experiment)
        steps[target] = experiment.algorithm.optimizer.num_steps
    return steps


def check_that_a_stopped_run_goes_on(
    config: TrainConfig,
    writer: MetricsWriter,
    folder: Path,
    when_stopped: Callable[[], None] = lambda: None,
) -> Checkpoint:
    """A run that is stopped after two iterations and goes on ends with the weights of one that was
    not; returns the checkpoint that it went on from. `when_stopped` is called in between.
    """
    train(config, writer, folder / "straight")
    seen: list[int] = []
    train(
        config,
        writer,
        folder / "parts",
        requests=StopWhen(lambda: 2 in seen),
        report=lambda _, iteration, __: seen.append(iteration),
    )
    checkpoint = latest_checkpoint(folder / "parts")
    assert checkpoint.iteration == 2
    when_stopped()
    train(config, writer, folder / "parts", resume_from=checkpoint)
    straight = latest_checkpoint(folder / "straight").state["policy"]
    parts = latest_checkpoint(folder / "parts").state["policy"]
    assert all((straight[name] == parts[name]).all() for name in straight)
    return checkpoint


def differing(expected: Any, found: Any) -> list[str]:
    """Names of the leaves of nested states that differ in a bit, or that one of them lacks."""
    former, latter = flat(expected), flat(found)
    return sorted(former.keys() ^ latter.keys()) + [
        name
        for name in former.keys() & latter.keys()
        if not torch.equal(former[name], latter[name])
    ]


def flat(state: Any) -> dict[str, torch.Tensor]:
    """The leaves of a nested state, by names."""
    if not isinstance(state, dict | list | tuple):
        return {"": torch.as_tensor(0 if state is None else state)}
    items = state.items() if isinstance(state, dict) else enumerate(state)
    return {f"{key}.{name}": leaf for key, part in items for name, leaf in flat(part).items()}
