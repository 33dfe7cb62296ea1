"""Ranks as processes of their own: `python ranked.py TASKS RESULT`, of which TASKS is JSON: a name
for each configuration, with `iterations`, with `double` in float64, and `compiled` where compiled
loops are to learn. All have as many environments. `as_on_a_gpu` runs what a GPU would.

Each trains its share and rank 0 writes what came of it; the environment says which rank it is.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from teaching import teacher
from torch import Tensor, nn

from operant.trainer.algorithms.off_policy import ADAM_EPSILON, OffPolicy
from operant.trainer.algorithms.optimizer import FlatAdam
from operant.trainer.config.from_values import make_config
from operant.trainer.distributed.place import place_of
from operant.trainer.distributed.process_group import LOCAL
from operant.trainer.distributed.reductions import by_rank
from operant.trainer.experiment import build, teachers, traits
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.machine.threads import Threads
from operant.trainer.policies.dense import DenseNetwork
from operant.trainer.policies.mlp import flattened
from operant.trainer.policies.normalizers import Rewards
from operant.trainer.running.joining import joined


class InDouble(nn.Module):
    """Observations in float64, where nothing normalises them, which has the same effect."""

    def forward(self, obs: Tensor) -> Tensor:
        return obs.double()


def in_double(experiment: Experiment) -> None:
    """Let an experiment compute in float64; environments still see and give float32."""
    policy: Any = experiment.policy
    policy.double()
    if isinstance(policy.normalizer, nn.Identity):
        policy.normalizer = InDouble()
    layers = getattr(policy, "network", None)
    if layers is not None:
        layers.flatten()
        policy.flat_parameters = layers.flat_parameters
    else:
        policy.flat_parameters = flattened(policy.parameters_to_learn())
    algorithm: Any = experiment.algorithm
    if isinstance(algorithm, OffPolicy):
        replay_in_double(algorithm)
        return
    algorithm.parameters = policy.parameters_to_learn()
    algorithm.optimizer = FlatAdam(policy.flat_parameters)
    rollout, collector = experiment.collector.rollout, experiment.collector
    for name in ("log_probs", "values", "next_values", "states"):
        if getattr(rollout, name) is not None:
            setattr(rollout, name, getattr(rollout, name).double())
    collector._states.now = collector._states.now.double()  # type: ignore[attr-defined]


def replay_in_double(algorithm: Any) -> None:
    """The same for what learns from replay, whose policy is in float64 already."""
    names = ("target", "critics", "target_critics", "target_actor")
    networks = [getattr(algorithm, name) for name in names if hasattr(algorithm, name)]
    for network in networks:
        network.double().flatten()
    for network in (algorithm.policy.network, *networks):
        for part in network.modules():
            if isinstance(part, DenseNetwork):
                part.precision = torch.float64
    algorithm.replay.sample = doubled(algorithm.replay.sample)
    for draws in algorithm.draws.values():
        draws.next = doubled(draws.next)
    algorithm.optimizer = FlatAdam(algorithm.policy.flat_parameters, ADAM_EPSILON)
    if hasattr(algorithm, "critics"):
        algorithm.critic_optimizer = FlatAdam(algorithm.critics.flat_parameters, ADAM_EPSILON)
    if hasattr(algorithm, "log_alpha"):
        algorithm.log_alpha = algorithm.log_alpha.double()
        algorithm.alpha = algorithm.alpha.double()
        algorithm.alpha_optimizer = FlatAdam(algorithm.log_alpha, ADAM_EPSILON)


def doubled(function: Any) -> Any:
    """A function, with float64 for the float32 in what it gives: a tensor, or a minibatch."""

    def of(value: Any) -> Any:
        is_single = isinstance(value, Tensor) and value.dtype == torch.float32
        return value.double() if is_single else value

    def wrapped(*arguments: Any) -> Any:
        found = function(*arguments)
        if isinstance(found, Tensor):
            return of(found)
        return replace(found, **{name: of(value) for name, value in vars(found).items()})

    return wrapped


@contextlib.contextmanager
def double_precision() -> Any:
    """Replace rounding to float32 by rounding to float64."""

    def in_float64(self: Rewards, rollout: Any) -> Tensor:
        return of_float32(self, rollout).double()

    of_float32 = Rewards.of
    with (
        mock.patch.object(Tensor, "float", Tensor.double),
        mock.patch.object(Rewards, "of", in_float64),
    ):
        yield


class Trial(NamedTuple):
    """The way in which a configuration is tried."""

    iterations: int
    double: bool
    compiled: bool
    as_on_a_gpu: bool

    @contextlib.contextmanager
    def patches(self, config: Any) -> Iterator[None]:
        """The patches under which a trial runs."""
        with contextlib.ExitStack() as stack:
            if not self.compiled:
                reason = "a test compares it"
                stack.enter_context(mock.patch.object(traits, "why_pytorch", return_value=reason))
            if config.algorithm == "ppo" and config.table("kickstart").teachers:
                taught = [teacher(lambda *overrides: make_config({}, overrides))]
                stack.enter_context(mock.patch.object(teachers, "teachers_of", return_value=taught))
            if self.double:
                stack.enter_context(double_precision())
            yield

    def made(self, config: Any, ranks: Any) -> Any:
        """An experiment."""
        if self.as_on_a_gpu:
            return build.device_experiment(config, torch.device("cpu"), False, ranks)
        experiment = build.processor_experiment(config, Threads(1), ranks)
        if self.double:
            in_double(experiment)
        return experiment


def trained(config: Any, ranks: Any, trial: Trial) -> dict[str, Any]:
    """The results of an experiment after its iterations, and of one resumed from there."""
    with trial.patches(config):
        experiment = trial.made(config, ranks)
        assert trial.compiled == (config.algorithm == "ppo" and bool(experiment.loops))
        episodes = []
        for _ in range(trial.iterations):
            (values,) = experiment.iterate(Stopwatch(), wait=True)
            rollout = experiment.collector.rollout
            env = {name: getattr(rollout, name) for name in ("obs", "rewards", "terminated")}
            episodes.append({name: ranks.gather(x, 1).clone() for name, x in env.items()})
            if rollout.valid is not None:
                episodes[-1]["valid"] = ranks.gather(rollout.valid, 1).clone()
        state = experiment.state_dict()
        another = trial.made(config, ranks)
        another.load_state_dict(state, trial.iterations)
        reloaded = another.state_dict()
    experiment.close()
    another.close()
    steps = torch.tensor(experiment.algorithm.optimizer.num_steps)
    return {
        "parameters": experiment.policy.flat_parameters.clone(), "episodes": episodes,
        "values": values, "state": state, "reloaded": reloaded,
        "num_steps": by_rank(ranks, steps).tolist(),
        "parameters_by_rank": by_rank(ranks, experiment.policy.flat_parameters.detach().clone()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tasks")
    parser.add_argument("result")
    parser.add_argument("--split", default="")
    arguments = parser.parse_args()
    tasks = {name: dict(task) for name, task in json.loads(arguments.tasks).items()}
    trials = {
        name: Trial(*(task.pop(key, False) for key in Trial._fields))
        for name, task in tasks.items()
    }
    configs = {name: make_config(task) for name, task in tasks.items()}
    place, results = place_of(os.environ), {}
    with contextlib.ExitStack() as stack:
        ranks: Any = LOCAL
        if place:
            first = next(iter(configs.values()))
            _, ranks = stack.enter_context(joined(place, first, arguments.split))
        for name, config in configs.items():
            results[name] = trained(config, ranks, trials[name])
    if ranks.rank == 0:
        torch.save(results, Path(arguments.result))


if __name__ == "__main__":
    sys.exit(main())
