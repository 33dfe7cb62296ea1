"""Any number of ranks learn what one process with all environments learns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import ranked
import torch
from rank_processes import said, started, wait_for_all

SMALL: dict[str, Any] = {
    "num_envs": 6, "rollout_steps": 16, "total_env_steps": 1920, "num_threads": 1,
    "policy": {"hidden_sizes": [16, 16]}, "iterations": 20, "double": True,
}  # fmt: skip
FEW = {"iterations": 5}
ONCE = {"iterations": 1, "double": False, "rollout_steps": 64}
NORMALIZED = {"normalization": {"obs": True, "reward": True}}
MEMORY = {
    "env": "cart_pole_no_velocity",
    "policy": {"hidden_sizes": [16], "memory": {"kind": "lstm", "size": 16, "horizon": 8}},
    "ppo": {"num_minibatches": 3},
}
TASKS: dict[str, dict[str, Any]] = {
    "cart_pole": {**SMALL, **NORMALIZED},
    "pendulum": {
        **SMALL, "env": "pendulum", "normalization": {"reward": True},
        "ppo": {"num_epochs": 3, "target_kl": 0.001},
    },
    "memory": {**SMALL, **MEMORY},
    "pqn": {**SMALL, "algorithm": "pqn"},
    # Several agents an environment, which retire: dead steps.
    "agents": {**SMALL, **FEW, **NORMALIZED, "env": "marine_nav"},
    "recomputed advantages": {
        **SMALL, **FEW, "ppo": {"recompute_advantages": "minibatch"},
        "normalization": {"reward_centring": 0.01},
    },
    "normalised over rollouts": {
        **SMALL, **FEW,
        "ppo": {"recompute_advantages": "epoch", "normalize_advantages": "rollout",
                "sampler": "sequential"},
    },
    # Environments go from rank to rank, with the episodes under way and all that is known of them.
    "moves": {**SMALL, **NORMALIZED, "moves": True, "iterations": 8},
    "moves with memory": {**SMALL, **MEMORY, "moves": True, "iterations": 8},
    "moving agents": {
        **SMALL, **NORMALIZED, "env": "marine_nav", "moves": True, "iterations": 7,
    },
    "in float32": {**SMALL, **NORMALIZED, **ONCE},
    "memory in float32": {**SMALL, **MEMORY, **ONCE},
    "agents in float32": {**SMALL, **NORMALIZED, "env": "marine_nav", **ONCE},
}  # fmt: skip

SPLITS = {1: "", 2: "", 3: "3:2:1"}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[int, Any]:
    """What came of all tasks, by the number of ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    return {size: trained(size, folder) for size in SPLITS}


def trained(size: int, folder: Path) -> Any:
    result, split = folder / f"{size}.pt", SPLITS[size]
    command = [ranked.__file__, json.dumps(TASKS), str(result), "--split", split]
    with started([command] * size, folder) as processes:
        assert wait_for_all(processes) == [0] * size, said(folder, size - 1)
    return torch.load(result, weights_only=False)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_ranks_live_the_same_episodes_and_learn_the_same(results, task, size):
    alone, together = results[1][task], results[size][task]
    for one, other in zip(alone["episodes"], together["episodes"], strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    limit = 1e-9 if TASKS[task]["double"] else 1e-5
    assert (alone["parameters"] - together["parameters"]).abs().max() < limit


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_rank_0_publishes_what_one_process_would(results, task, size):
    alone, together = (results[n][task]["values"] for n in (1, size))
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        if not name.startswith("time/"):
            assert together[name] == pytest.approx(value, rel=1e-4, abs=1e-6, nan_ok=True), name


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_holds_the_environments_of_all_ranks(results, task, size):
    alone, together = (results[n][task]["state"]["collector"] for n in (1, size))
    for name, state in alone["envs"].items():
        assert torch.equal(state, together["envs"][name]), name
    assert torch.equal(alone["obs"], together["obs"])
    assert torch.equal(alone["generator"], together["generator"])


def test_some_steps_were_dead(results):
    assert not all(episode["valid"].all() for episode in results[1]["agents"]["episodes"])
