"""Iterations at the sizes of real runs, on fake tensors: what must not be in them, and bytes."""

from __future__ import annotations

import contextlib

import device_bytes
import gpu_runs
import pytest
import torch

from operant.shared.errors import ConfigError
from operant.trainer.config.files import load_config
from operant.trainer.config.from_values import make_config
from operant.trainer.config.train_config import algorithm_sections
from operant.trainer.jit.graphs import Replayed
from operant.trainer.jit.kernel import Kernel

ENVS = ("cart_pole", "pendulum", "mountain_car_continuous", "grid", "marine_nav")
SIZES = {"num_envs": 8192, "rollout_steps": 16}
SWITCHES = {
    "fused": {"rollout": "fused"},
    "overlap": {"overlap": True},
    "bfloat16": {"policy": {"precision": "bfloat16"}},
    "lstm": {"policy": {"memory": {"kind": "lstm", "horizon": 8}}},
    "contrastive": {"policy": {"memory": {"kind": "gru"}}, "contrastive": {"coef": 0.1}},
    "prioritised": {"ppo": {"sampler": "prioritised"}},
    "kl-stop": {"ppo": {"target_kl": 0.01}},
    "pieces": {"ppo": {"max_minibatch_size": 2048}},
}
FROM_REPLAY = {
    "bfloat16": {"policy": {"precision": "bfloat16"}},
    "float16": {"policy": {"precision": "float16"}},
    "priorities-n-step": {"replay": {"priority_exponent": 0.6}, "n_step": 3},
    "in-main-memory": {"replay": {"memory": "host"}},
}
# Arrays of float64 that are meant: statistics, sums and metrics, and what has to tell apart more
# than 2^24 numbers.
FLOAT64 = {
    "experiment/graphs": "metrics",
    "machine/staged_values": "metrics",
    "envs/vector_on_gpu": "returns of episodes",
    "collecting/on_gpu": "returns of episodes",
    "experiment/overlapping": "returns of episodes",
    "policies/normalizers": "running statistics",
    "policies/draws_on_gpu": "keys of an order, of 48 bits",
    "algorithms/ppo": "sums of losses over minibatches",
    "algorithms/pqn": "sums of losses over minibatches",
    "memory/samplers": "probabilities that are added up",
    "algorithms/auxiliary/contrastive": "places of a geometric distribution",
    "memory/replay/on_gpu": "importance weights",
    "memory/replay/replay": "sums of priorities",
}


def cases():
    """Every algorithm with every kind of environment, and with the settings that a GPU can have."""
    for algorithm, section in algorithm_sections().items():
        from_replay = "replay" in section.tables
        sizes = {**SIZES, "algorithm": algorithm}
        if from_replay:
            sizes["replay"] = {"capacity": 1_000_000}
        fitting = []
        for env in ENVS:
            with contextlib.suppress(ConfigError):
                if gpu_runs.can_be_on_a_gpu(make_config({**sizes, "env": env})):
                    fitting.append(env)
                    yield f"{algorithm}-{env}", {**sizes, "env": env}
        switches = FROM_REPLAY if from_replay else SWITCHES if algorithm == "ppo" else {}
        for name, more in switches.items():
            more = {
                key: {**sizes.get(key, {}), **value} if isinstance(value, dict) else value
                for key, value in more.items()
            }
            if "n_step" in more:
                more[algorithm] = {"n_step": more.pop("n_step")}
            yield f"{algorithm}-{name}", {**sizes, "env": fitting[0], **more}


CASES = dict(cases())
# One of each way to learn; the long form has all.
SHORT = {
    "ppo-cart_pole", "ppo-kl-stop", "pqn-cart_pole", "rainbow-cart_pole",
    "sac-pendulum",
}  # fmt: skip
ROWS = dict(device_bytes.rows())
CHECKED_ROWS = (
    "cart_pole_ppo", "cart_pole_rainbow", "pendulum_sac", "cart_pole_ppo, gpu_large",
    "grid_ppo, fast", "marine_nav_iqn", "dqn, 8,192 environments",
)  # fmt: skip
SHORT_ROWS = {"cart_pole_ppo", "pendulum_sac"}


def marked(name, short):
    return pytest.param(name, marks=() if name in short else pytest.mark.long_rehearsal)


@pytest.mark.parametrize("name", [marked(name, SHORT) for name in CASES])
def test_an_iteration_neither_waits_nor_mixes_devices_nor_computes_in_float64(name):
    values = CASES[name]
    config = device_bytes.with_few_updates(lambda more: make_config(values, more))
    seen = device_bytes.watched(config)
    assert len(seen.launches) >= 3  # reset, act or noise, step
    assert {x.partition(":")[0] for x in seen.float64} <= FLOAT64.keys(), seen.float64
    precision = getattr(torch, config.policy.precision)
    assert precision in seen.products
    assert seen.products <= {precision, torch.float32}
    assert seen.kept > 2**20
    assert (seen.pinned > 2**20) == ("main-memory" in name)


def copy_to_pageable(x):
    torch.zeros(8).copy_(x, non_blocking=True)


def copy_from_host(x):
    x.copy_(torch.zeros(8))


def launch_on_host(x):
    Kernel(copy_from_host, "planted").launch(8, x, torch.zeros(8))


FAULTS = (copy_to_pageable, copy_from_host, launch_on_host)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_an_iteration_is_found(fault, monkeypatch):
    run_as_before = Replayed.__call__

    def run(self):
        run_as_before(self)
        fault(torch.ones(8, device="cuda"))

    monkeypatch.setattr(Replayed, "__call__", run)
    with pytest.raises(device_bytes.LintError):
        device_bytes.watched(load_config("cart_pole_ppo"))


SMALL = {
    "ppo": {"algorithm": "ppo", "env": "cart_pole"},
    "ppo-lstm": {
        "algorithm": "ppo", "env": "cart_pole", "policy": {"memory": {"kind": "lstm"}},
    },
    "pqn": {"algorithm": "pqn", "env": "cart_pole"},
    "dqn": {"algorithm": "dqn", "env": "cart_pole", "replay": {"capacity": 20_000}},
    "sac": {"algorithm": "sac", "env": "pendulum", "replay": {"capacity": 20_000}},
}  # fmt: skip


# The allocator asks the device for pieces of 20 MB, and for small tensors of 2 MB. A pool has one
# begun piece of either, and large tensors are rounded up to 2 MB.
PIECES = 24 * 2**20


@pytest.mark.parametrize("name", [marked(name, {"ppo"}) for name in SMALL])
def test_bytes_are_those_that_pytorchs_allocator_gives_out(name):
    values = {**SMALL[name], "num_envs": 64, "rollout_steps": 16}
    config = device_bytes.with_few_updates(lambda more: make_config(values, more))
    seen = device_bytes.watched(config)
    assert device_bytes.allocated(config, capture=False) == (seen.kept, seen.peaks, [])
    kept, peaks, pools = device_bytes.allocated(config, capture=True)
    assert (kept, peaks) == (seen.kept, seen.peaks)
    # Each of the two keeps what it works in, so `in all` is their sum.
    assert len(pools) == len(peaks)
    assert 0 <= kept + sum(pools) - seen.in_all <= PIECES * len(pools)


@pytest.mark.parametrize("name", [marked(name, SHORT_ROWS) for name in CHECKED_ROWS])
def test_the_documents_table_has_these_bytes(name):
    seen = device_bytes.watched(device_bytes.with_few_updates(ROWS[name]))
    assert device_bytes.row(name, seen) in device_bytes.in_document()


def test_the_documents_table_has_a_row_of_each():
    lines = device_bytes.in_document().splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == list(ROWS)


ON_SECOND = ("ppo", "ppo-overlap", "rainbow")


@pytest.mark.parametrize("name", [marked(name, ON_SECOND[:2]) for name in ON_SECOND])
def test_a_run_on_the_second_gpu_does_the_same_and_takes_nothing_of_the_first(name):
    values = {"algorithm": name.partition("-")[0], "env": "cart_pole", "num_envs": 64,
              "rollout_steps": 16, **({"overlap": True} if "overlap" in name else {})}  # fmt: skip
    config = device_bytes.with_few_updates(lambda more: make_config(values, more))
    on_first = gpu_runs.make_run(config, "cuda")
    expected = gpu_runs.iterate(on_first, 5)
    before = torch.cuda.memory_allocated(0)
    with torch.cuda.device(1):  # as a rank has it
        on_second = gpu_runs.make_run(config, "cuda:1")
        torch.cuda.reset_peak_memory_stats(0)
        assert str(gpu_runs.iterate(on_second, 5)) == str(expected)
        assert gpu_runs.differences(on_first, on_second) == {}
    assert torch.cuda.max_memory_allocated(0) <= before
    assert torch.cuda.memory_allocated(1) > 0
