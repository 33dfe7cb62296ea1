"""1 and 3 ranks learn the same. All tasks share one process group per number of ranks:
starting a group takes longer than training.
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

pytestmark = pytest.mark.timeout(3600)

MEMORY = {
    "env": "cart_pole_no_velocity",
    "policy": {"hidden_sizes": [16], "memory": {"kind": "lstm", "size": 16, "horizon": 8}},
    "ppo": {"num_minibatches": 3},
}
IN_PYTORCH: dict[str, dict[str, Any]] = {
    "cart_pole": {**SMALL, **NORMALIZED},
    "pendulum": {
        **SMALL, "env": "pendulum", "normalization": {"reward": True},
        "ppo": {"num_epochs": 3, "target_kl": 0.001},
    },
    "memory": {**SMALL, **MEMORY},
    "pqn": {**SMALL, "algorithm": "pqn"},
    # Several agents an environment, which retire: dead steps.
    "agents": {**SMALL, **FEW, **NORMALIZED, "env": "marine_nav"},
    "pieces": {**SMALL, **FEW, "ppo": {"max_minibatch_size": 64}},
    "normalised over rollouts": {
        **SMALL, **FEW,
        "ppo": {"normalize_advantages": "rollout", "sampler": "sequential"},
    },
    "by advantages": {
        **SMALL, **FEW,
        "ppo": {"sampler": "prioritised", "num_minibatches": 3},
    },
    "rows by advantages": {
        **SMALL, **FEW, **MEMORY, "ppo": {"num_minibatches": 3, "sampler": "prioritised"},
    },
    "taught": {
        **SMALL, **ONCE, "kickstart": {"teachers": ["a-run"]},
    },
    "agents in float32": {**SMALL, **NORMALIZED, "env": "marine_nav", **ONCE},
    # The processor runs what a GPU would.
    "as on a GPU": {**SMALL, **NORMALIZED, **ONCE, "as_on_a_gpu": True},
}  # fmt: skip
LOOPS: dict[str, Any] = {**SMALL, "rollout_steps": 32, "iterations": 1, "double": False,
                         "compiled": True, "policy": {}}  # fmt: skip
COMPILED: dict[str, dict[str, Any]] = {
    "compiled cart_pole": {**LOOPS, **NORMALIZED},
    "compiled pendulum": {**LOOPS, "env": "pendulum", "normalization": {"reward": True}},
    "compiled, normalised over rollouts": {**LOOPS, "ppo": {"normalize_advantages": "rollout"}},
    "compiled agents": {**LOOPS, **NORMALIZED, "env": "marine_nav"},
    "compiled, ended early": {**LOOPS, "ppo": {"num_epochs": 5, "target_kl": 1e-5}},
    # 12 samples in minibatches of one: most ranks have none of most.
    "compiled, without rows": {**LOOPS, "rollout_steps": 2, "ppo": {"num_minibatches": 12}},
}  # fmt: skip
# Of other libraries: their workers share the machine's cores, and no state of theirs is kept.
HOSTED: dict[str, dict[str, Any]] = {
    "gymnasium": {
        **SMALL, **FEW, "env": "gymnasium:hosted_envs:make_count", "workers": {"num_workers": 2},
    },
    "pettingzoo": {**SMALL, **FEW, **NORMALIZED, "env": "pettingzoo:parallel_envs:Relay"},
}  # fmt: skip
EXACT = {**IN_PYTORCH, **COMPILED, **HOSTED}


def replayed(algorithm: str, env: str, **more: Any) -> dict[str, Any]:
    """Settings with a replay that overflows and batches that ranks split unevenly."""
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
    "sac": replayed("sac", "pendulum", replay={"capacity": 240, "priority_exponent": 0.6}),
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
TASKS = {**EXACT, **REPLAYED}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[int, Any]:
    """Results of all tasks, by number of ranks."""
    return results_of(TASKS, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("task", EXACT)
def test_ranks_live_the_same_episodes_and_learn_the_same(results, task):
    check_same_learning(results[1][task], results[3][task], TASKS[task]["double"])
    check_same_values(results[1][task], results[3][task])


@pytest.mark.parametrize("task", [*IN_PYTORCH, "compiled agents"])
def test_a_checkpoint_holds_the_environments_of_all_ranks(results, task):
    alone, together = (results[n][task]["state"]["collector"] for n in (1, 3))
    parts = ("envs", "obs", "generator")
    alone, together = (
        {name: state[name] for name in parts if name in state} for state in (alone, together)
    )
    assert not list(different(alone, together, is_exact=TASKS[task]["double"]))


def test_an_update_that_ends_early_ends_in_all_ranks_at_the_same_step(results):
    (steps,) = results[1]["compiled, ended early"]["num_steps"]
    assert 0 < steps < 5 * 4
    assert results[3]["compiled, ended early"]["num_steps"] == [steps] * 3


@pytest.mark.parametrize("task", REPLAYED)
def test_ranks_with_a_replay_each_learn_one_policy_with_as_many_updates(results, task):
    alone, together = results[1][task], results[3][task]
    first, *others = together["parameters_by_rank"]
    assert all(torch.equal(first, other) for other in others)
    assert torch.isfinite(first).all()
    assert not torch.equal(first, alone["parameters"])
    # Agents that retire stop counting env steps, and when they do depends on the policy.
    if "agents" not in task:
        assert together["num_steps"] == alone["num_steps"] * 3
        for name in ("updates/count", "replay/fill_fraction"):
            assert together["values"][name] == alone["values"][name]
    assert len(set(together["num_steps"])) == 1
    states = (results[n][task]["state"]["learner"]["replay"] for n in (1, 3))
    shapes = [{name: array.shape for name, array in state.items()} for state in states]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_gives_the_same_state_to_those_who_go_on_with_it(results, task, size):
    found = set(different(results[size][task]["state"], results[size][task]["reloaded"]))
    if TASKS[task].get("env", "").startswith(("gymnasium:", "pettingzoo:")):
        # They begin other episodes.
        found -= {".collector.obs", ".collector.envs.num_resumed", ".reward_normalizer.returns"}
        of_ends = "endings", "num_cut", "owners", "finals", "depths"
        found -= {f".learner.replay.{name}" for name in of_ends}
    assert found == set()


@pytest.mark.parametrize(
    "task", ["agents", "compiled agents", "agents that replay", "pettingzoo that replays"]
)
def test_some_steps_were_dead(results, task):
    assert not all(episode["valid"].all() for episode in results[1][task]["episodes"])
