"""What learns from replay, lives in other libraries' environments, or runs as on a GPU, learns the
same with any number of ranks.
"""

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
    "td3": replayed("td3", "pendulum"),
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
    "stacks that replay": replayed(
        "dqn", "gymnasium:hosted_envs:make_stack", section={"n_step": 3}, normalization={}
    ),
}  # fmt: skip
TASKS = {**REPLAYED, **ON_DEVICE, **HOSTED}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[int, Any]:
    """What came of all tasks, by the number of ranks."""
    return results_of(TASKS, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_ranks_live_the_same_episodes_and_learn_the_same(results, task, size):
    check_same_learning(results[1][task], results[size][task], TASKS[task]["double"])


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_rank_0_publishes_what_one_process_would(results, task, size):
    check_same_values(results[1][task], results[size][task])


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
    found = set(different(results[size][task]["state"], results[size][task]["reloaded"]))
    if task in HOSTED:  # which begin other episodes
        found -= {".collector.obs", ".collector.envs.num_resumed", ".reward_normalizer.returns"}
        of_ends = "endings", "num_cut", "owners", "finals", "depths"
        found -= {f".learner.replay.{name}" for name in of_ends}
    assert found == set()


def test_some_steps_were_dead(results):
    for task in ("agents that replay", "pettingzoo that replays"):
        assert not all(episode["valid"].all() for episode in results[1][task]["episodes"])
