"""Any number of ranks learn what one process with all environments learns."""

from __future__ import annotations

import json
from collections.abc import Iterator
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


def replayed(algorithm: str, env: str, **more: Any) -> dict[str, Any]:
    """What learns from a replay that overflows, of batches that are not divisible."""
    section = {
        "batch_size": 7, "warmup_env_steps": 60, "updates_per_env_step": 0.5,
        **more.pop("section", {}),
    }  # fmt: skip
    return {
        **SMALL, "rollout_steps": 4, "algorithm": algorithm, "env": env, algorithm: section,
        "replay": {"capacity": 240}, **more,
    }  # fmt: skip


REPLAYED: dict[str, dict[str, Any]] = {
    "dqn": replayed("dqn", "cart_pole", section={"n_step": 3}, normalization={"obs": True}),
    "rainbow": replayed("rainbow", "cart_pole"),  # priorities, noisy layers
    "iqn": replayed("iqn", "cart_pole"),
    # What each rank remembers of an environment goes with it.
    "moves with what it replays": replayed("dqn", "cart_pole", moves=True, iterations=8),
    "sac": replayed("sac", "pendulum", replay={"capacity": 240, "priority_exponent": 0.6}),
    "noise that drifts": replayed(
        "td3", "pendulum", section={"exploration": "ornstein_uhlenbeck"}
    ),
    "noise by the state": replayed(
        "sac", "pendulum", section={"exploration": "state_dependent"}
    ),
    "agents that replay": replayed(
        "ac_iqn", "marine_nav", iterations=8, rollout_steps=32,
        section={"updates_per_env_step": 1 / 160, "warmup_env_steps": 1000},
        replay={"capacity": 3600},
    ),
    "sac in float32": replayed("sac", "pendulum", iterations=1, double=False, rollout_steps=16),
}  # fmt: skip
# The processor runs what a GPU would, in float32.
DEVICE = {"iterations": 1, "double": False, "as_on_a_gpu": True}
ON_DEVICE: dict[str, dict[str, Any]] = {
    "ppo as on a GPU": {**SMALL, **NORMALIZED, **ONCE, **DEVICE},
    "dqn as on a GPU": replayed("dqn", "cart_pole", rollout_steps=32, **DEVICE),
    "agents as on a GPU": replayed(
        "ac_iqn", "marine_nav", rollout_steps=32, replay={"capacity": 3600},
        section={"updates_per_env_step": 1 / 160, "warmup_env_steps": 500}, **DEVICE,
    ),
}  # fmt: skip
# Of other libraries: their workers share the machine's cores, and no state of theirs is kept.
HOSTED: dict[str, dict[str, Any]] = {
    "gymnasium": {
        **SMALL, **FEW, "env": "gymnasium:hosted_envs:make_count", "workers": {"num_workers": 2},
    },
    "pettingzoo": {**SMALL, **FEW, **NORMALIZED, "env": "pettingzoo:parallel_envs:Relay"},
    "pettingzoo that replays": replayed("dqn", "pettingzoo:parallel_envs:Relay"),
}  # fmt: skip
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
    "by advantages": {
        **SMALL, **FEW,
        "ppo": {"sampler": "prioritised", "recompute_advantages": "epoch", "num_minibatches": 3},
    },
    "rows by advantages": {
        **SMALL, **FEW, **MEMORY, "ppo": {"num_minibatches": 3, "sampler": "prioritised"},
    },
    "taught": {
        **SMALL, **ONCE, "kickstart": {"teachers": ["a-run"], "act_prob": 0.3},
    },
    "in float32": {**SMALL, **NORMALIZED, **ONCE},
    "memory in float32": {**SMALL, **MEMORY, **ONCE},
    "agents in float32": {**SMALL, **NORMALIZED, "env": "marine_nav", **ONCE},
    **REPLAYED,
    **HOSTED,
    **ON_DEVICE,
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
    assert not list(different(alone["envs"], together["envs"]))
    assert torch.equal(alone["obs"], together["obs"])
    if task not in ON_DEVICE:  # which counts its draws
        assert torch.equal(alone["generator"], together["generator"])


def test_some_steps_were_dead(results):
    for task in ("agents", "agents that replay"):
        assert not all(episode["valid"].all() for episode in results[1][task]["episodes"])


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", REPLAYED)
def test_a_checkpoint_holds_the_replay_of_all_ranks(results, task, size):
    alone, together = (results[n][task]["state"]["learner"]["replay"] for n in (1, size))
    assert alone.keys() == together.keys()
    for name, array in alone.items():
        if name not in ("leaves", "max_leaf"):  # which distances from the target are rounded to
            assert torch.equal(array, together[name]), name
        torch.testing.assert_close(array, together[name])


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_gives_the_same_state_to_those_who_go_on_with_it(results, task, size):
    state, reloaded = (results[size][task][name] for name in ("state", "reloaded"))
    found = set(different(state, reloaded))
    if task in HOSTED:  # which begin other episodes
        found -= {".collector.obs", ".collector.envs.num_resumed"}
        found -= {f".learner.replay.{name}" for name in ("endings", "num_cut", "owners", "finals")}
        found -= {".reward_normalizer.returns"}
    assert found == set()


def different(one: Any, other: Any, name: str = "") -> Iterator[str]:
    """Where two nested states are not the same."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), name
        for key in one:
            yield from different(one[key], other[key], f"{name}.{key}")
    elif not (torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other):
        yield name
