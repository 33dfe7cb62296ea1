"""Compiled loops of any number of ranks learn what those of one process learn."""

from __future__ import annotations

import json
from typing import Any

import pytest
import ranked
import torch
from rank_processes import said, started, wait_for_all

ONCE: dict[str, Any] = {
    "num_envs": 12, "rollout_steps": 32, "total_env_steps": 1920, "num_threads": 1,
    "iterations": 1, "compiled": True,
}  # fmt: skip
NORMALIZED = {"normalization": {"obs": True, "reward": True}}
EARLY = {"num_epochs": 5, "target_kl": 1e-5}
TASKS: dict[str, dict[str, Any]] = {
    "cart_pole": {**ONCE, **NORMALIZED},
    "pendulum": {**ONCE, "env": "pendulum", "normalization": {"reward": True}},
    "normalised over rollouts": {**ONCE, "ppo": {"normalize_advantages": "rollout"}},
    "not normalised": {**ONCE, "ppo": {"normalize_advantages": "off", "value_clip": 0.1}},
    # Several agents an environment, which retire: dead steps.
    "agents": {**ONCE, **NORMALIZED, "env": "marine_nav"},
    "ended early": {**ONCE, "ppo": EARLY},
    # 24 samples in minibatches of one: most ranks have none of most.
    "without rows": {**ONCE, "rollout_steps": 2, "ppo": {"num_minibatches": 24}},
}  # fmt: skip
CASES = [(1, ""), (2, ""), (3, "3:2:1")]
SEVERAL = [case for case in CASES if case[0] > 1]


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[tuple[int, str], Any]:
    """What came of all tasks, by the number of ranks and how environments are split."""
    found = {}
    for size, split in CASES:
        folder = tmp_path_factory.mktemp("ranks")
        command = [ranked.__file__, json.dumps(TASKS), str(folder / "found.pt"), "--split", split]
        with started([command] * size, folder) as processes:
            assert wait_for_all(processes) == [0] * size, said(folder, size - 1)
        found[size, split] = torch.load(folder / "found.pt", weights_only=False)
    return found


@pytest.mark.parametrize("case", SEVERAL)
@pytest.mark.parametrize("task", TASKS)
def test_ranks_live_the_same_episodes_and_learn_the_same(results, task, case):
    alone, together = results[1, ""][task], results[case][task]
    for one, other in zip(alone["episodes"], together["episodes"], strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert (alone["parameters"] - together["parameters"]).abs().max() < 1e-5


@pytest.mark.parametrize("case", SEVERAL)
@pytest.mark.parametrize("task", TASKS)
def test_rank_0_publishes_what_one_process_would(results, task, case):
    alone, together = (results[n][task]["values"] for n in ((1, ""), case))
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        if not name.startswith("time/"):
            assert together[name] == pytest.approx(value, rel=1e-4, abs=1e-6, nan_ok=True), name


@pytest.mark.parametrize("case", SEVERAL)
def test_a_checkpoint_holds_the_environments_of_all_ranks(results, case):
    alone, together = (results[n]["agents"]["state"]["collector"] for n in ((1, ""), case))
    for name, state in alone["envs"].items():
        assert torch.equal(state, together["envs"][name]), name
    assert torch.equal(alone["obs"], together["obs"])


@pytest.mark.parametrize("case", SEVERAL)
def test_an_update_that_ends_early_ends_in_all_ranks_at_the_same_step(results, case):
    (steps,) = results[1, ""]["ended early"]["num_steps"]
    assert 0 < steps < 5 * 4
    assert results[case]["ended early"]["num_steps"] == [steps] * case[0]


def test_some_steps_were_dead(results):
    assert not all(episode["valid"].all() for episode in results[1, ""]["agents"]["episodes"])
