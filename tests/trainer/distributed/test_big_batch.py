"""Any number of ranks learn what one process with all environments learns."""

from __future__ import annotations

from typing import Any

import pytest
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
    "centred rewards": {
        **SMALL, **FEW, "ppo": {"max_minibatch_size": 64},
        "normalization": {"reward_centring": 0.01},
    },
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
    "in float32": {**SMALL, **NORMALIZED, **ONCE},
    "memory in float32": {**SMALL, **MEMORY, **ONCE},
    "agents in float32": {**SMALL, **NORMALIZED, "env": "marine_nav", **ONCE},
}  # fmt: skip


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
@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_holds_the_environments_of_all_ranks(results, task, size):
    alone, together = (results[n][task]["state"]["collector"] for n in (1, size))
    parts = ("envs", "obs", "generator")
    alone, together = ({name: state[name] for name in parts} for state in (alone, together))
    assert not list(different(alone, together, is_exact=TASKS[task]["double"]))


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("task", TASKS)
def test_a_checkpoint_gives_the_same_state_to_those_who_go_on_with_it(results, task, size):
    result = results[size][task]
    assert not list(different(result["state"], result["reloaded"]))


def test_some_steps_were_dead(results):
    assert not all(episode["valid"].all() for episode in results[1]["agents"]["episodes"])
