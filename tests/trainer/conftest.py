"""Small experiments, the same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from toy_envs import POINT, SWITCHES, Described

from operant.shared import MetricsReader, MetricsWriter
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.config.metrics import metrics_of
from operant.trainer.config.train_config import TrainConfig
from operant.trainer.envs import hosts
from operant.trainer.envs.hosts import load_spec
from operant.trainer.experiment import teachers as experiment_teachers
from operant.trainer.experiment.build import device_experiment, processor_experiment
from operant.trainer.experiment.experiment import Experiment
from operant.trainer.experiment.plan import plan
from operant.trainer.experiment.traits import ANY_MACHINE
from operant.trainer.machine.threads import Threads
from operant.trainer.running import loop

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
    config = make_config(SMALL, overrides)
    plan(
        config, hosts.describe(config), ANY_MACHINE
    )  # which raises ConfigError for what no machine can run
    return config


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
    monkeypatch.setattr(hosts, "HOSTS", (Described(spec), *hosts.HOSTS))
    return f"policy.distribution={name}"


@pytest.fixture
def teach(monkeypatch) -> Callable[..., None]:
    """Runs learn from these teachers, whatever they are called."""

    def teach(*teachers):
        def teachers_of(config, spec):
            return teachers if config.table("kickstart").teachers else ()

        monkeypatch.setattr(experiment_teachers, "teachers_of", teachers_of)

    return teach


@pytest.fixture
def make_experiment() -> Iterator[Callable[..., Experiment]]:
    """Experiments on as many threads as their configuration says."""
    all_threads = []

    def make(*overrides: str) -> Experiment:
        small = small_config(*overrides)
        threads = Threads(small.num_threads)
        all_threads.append(threads)
        return processor_experiment(small, threads)

    yield make
    for threads in all_threads:
        threads.close()


@pytest.fixture
def make_cuda_experiment() -> Callable[..., Experiment]:
    """Experiments whose parts live on a GPU, on the processor and without graphs."""
    torch.set_num_threads(1)  # more only wait for each other over work this small

    def make(*overrides: str) -> Experiment:
        return device_experiment(small_config(*overrides), torch.device("cpu"))

    return make


@pytest.fixture
def page(operant_pages) -> tuple[MetricsWriter, MetricsReader]:
    """A page that a run publishes on, and what reads it."""
    metrics = metrics_of(load_config())
    writer = MetricsWriter.create(operant_pages / "p", "run", metrics, publish_interval_s=1)
    return writer, MetricsReader.attach(operant_pages / "p")


@pytest.fixture
def on_the_device(monkeypatch) -> None:
    """`train` as with a GPU; the processor stands in for it."""

    def make(config: TrainConfig, *_: object) -> Experiment:
        return device_experiment(config, torch.device("cpu"))

    monkeypatch.setattr(loop, "make_experiment", make)
