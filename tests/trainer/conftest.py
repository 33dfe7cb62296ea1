"""Small experiments, the same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from toy_envs import POINT, SWITCHES

from operant.trainer import making
from operant.trainer.config import train_config
from operant.trainer.config.files import make_config
from operant.trainer.config.train_config import TrainConfig
from operant.trainer.cuda import parts as cuda_parts
from operant.trainer.envs import load_spec
from operant.trainer.experiment import Experiment
from operant.trainer.run.threads import Threads

SMALL = {
    "num_envs": 8,
    "rollout_steps": 16,
    "total_env_steps": 8 * 16 * 6,
    "num_threads": 1,
    "policy": {"hidden_sizes": [16, 16]},
    "evaluation": {"num_episodes": 5},
}


def small_config(*overrides: str) -> TrainConfig:
    """Six iterations of 128 env steps of CartPole, with `overrides`."""
    return make_config(SMALL, overrides)


@pytest.fixture(name="small_config")
def small_config_fixture() -> Callable[..., TrainConfig]:
    return small_config


# Every distribution, with an environment that has such actions.
POLICIES = {
    "categorical": (load_spec("cart_pole"), "auto"),
    "multi_categorical": (SWITCHES, "auto"),
    "gaussian": (POINT, "gaussian"),
    "squashed_gaussian": (POINT, "squashed_gaussian"),
    "beta": (POINT, "beta"),
}


@pytest.fixture(params=POLICIES)
def any_distribution(request, monkeypatch) -> str:
    """Experiments have actions for this distribution; returns the override that chooses it."""
    spec, name = POLICIES[request.param]
    for module in (train_config, making):
        monkeypatch.setattr(module, "spec_of", lambda _: spec)
    for module in (making, cuda_parts):
        monkeypatch.setattr(module, "env_spec_of", lambda _: spec)
    return f"policy.distribution={name}"


@pytest.fixture
def teach(monkeypatch) -> Callable[..., None]:
    """Runs learn from these teachers, whatever they are called."""

    def teach(*teachers):
        def teaching(config):
            return {"teachers": teachers} if config.table("kickstart").teachers else {}

        for module in (making, cuda_parts):
            monkeypatch.setattr(module, "teaching", teaching)

    return teach


@pytest.fixture
def make_experiment() -> Iterator[Callable[..., Experiment]]:
    """Experiments on as many threads as their configuration says."""
    all_threads = []

    def make(*overrides: str) -> Experiment:
        small = small_config(*overrides)
        threads = Threads(small.num_threads)
        all_threads.append(threads)
        return making.processor_experiment(small, threads)

    yield make
    for threads in all_threads:
        threads.close()


@pytest.fixture
def make_cuda_experiment() -> Callable[..., Experiment]:
    """Experiments whose parts live on a GPU, on the processor and without graphs."""
    torch.set_num_threads(1)  # more only wait for each other over work this small

    def make(*overrides: str) -> Experiment:
        return making.device_experiment(small_config(*overrides), torch.device("cpu"))

    return make
