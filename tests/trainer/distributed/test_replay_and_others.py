"""Ranks with a replay each, with environments of other libraries, and as on a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from rank_results import (
    FEW,
    NORMALIZED,
    ONCE,
    SMALL,
    check_same_learning,
    check_same_values,
    different,
    results_of,
)

pytestmark = pytest.mark.slow


def replayed(algorithm: str, env: str, **more: Any) -> dict[str, Any]:
    """What learns from a replay that overflows, of batches that are not divisible."""
    section = {
        "batch_size": 7, "warmup_env_steps": 60, "updates_per_env_step": 0.25,
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
    "dqn as on a GPU": replayed(
        "dqn", "cart_pole", rollout_steps=32, iterations=1, double=False, as_on_a_gpu=True
    ),
    "pettingzoo that replays": replayed("dqn", "pettingzoo:parallel_envs:Relay"),
    "stacks that replay": replayed(
        "dqn", "gymnasium:hosted_envs:make_stack", section={"n_step": 3}, normalization={}
    ),
}  # fmt: skip
# Of other libraries: their workers share the machine's cores, and no state of theirs is kept.
HOSTED: dict[str, dict[str, Any]] = {
    "gymnasium": {
        **SMALL, **FEW, "env": "gymnasium:hosted_envs:make_count", "workers": {"num_workers": 2},
    },
    "pettingzoo": {**SMALL, **FEW, **NORMALIZED, "env": "pettingzoo:parallel_envs:Relay"},
}  # fmt: skip
EXACT: dict[str, dict[str, Any]] = {
    **HOSTED,
    # The processor runs what a GPU would, in float32.
    "ppo as on a GPU": {**SMALL, **NORMALIZED, **ONCE, "as_on_a_gpu": True},
}
TASKS = {**REPLAYED, **EXACT}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[int, Any]:
    """What came of all tasks, by the number of ranks."""
    return results_of(TASKS, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", EXACT)
def test_ranks_live_the_same_episodes_and_learn_the_same(results, task, size):
    check_same_learning(results[1][task], results[size][task], TASKS[task]["double"])
    check_same_values(results[1][task], results[size][task])


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", REPLAYED)
def test_ranks_with_a_replay_each_learn_one_policy_with_as_many_updates(results, task, size):
    alone, together = results[1][task], results[size][task]
    first, *others = together["parameters_by_rank"]
    assert all(torch.equal(first, other) for other in others)
    assert torch.isfinite(first).all()
    assert not torch.equal(first, alone["parameters"])
    assert together["num_steps"] == alone["num_steps"] * size
    for name in ("updates/count", "replay/fill_fraction"):
        assert together["values"][name] == alone["values"][name]
    states = (results[n][task]["state"]["learner"]["replay"] for n in (1, size))
    shapes = [{name: array.shape for name, array in state.items()} for state in states]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_gives_the_same_state_to_those_who_go_on_with_it(results, task, size):
    found = set(different(results[size][task]["state"], results[size][task]["reloaded"]))
    if TASKS[task]["env"].startswith(("gymnasium:", "pettingzoo:")):  # which begin other episodes
        found -= {".collector.obs", ".collector.envs.num_resumed", ".reward_normalizer.returns"}
        of_ends = "endings", "num_cut", "owners", "finals", "depths"
        found -= {f".learner.replay.{name}" for name in of_ends}
    assert found == set()


def test_some_steps_were_dead(results):
    for task in ("agents that replay", "pettingzoo that replays"):
        assert not all(episode["valid"].all() for episode in results[1][task]["episodes"])
