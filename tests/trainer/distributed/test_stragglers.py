"""Rollouts that end early because other ranks wait."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import distributed
from waiting import wait_for

from operant.trainer.config.from_values import make_config
from operant.trainer.distributed.process_group import ProcessGroup
from operant.trainer.distributed.stragglers import Stragglers, num_enough
from operant.trainer.experiment import build
from operant.trainer.machine.stopwatch import Stopwatch
from operant.trainer.machine.threads import Threads

SMALL: dict[str, Any] = {
    "env": "cart_pole", "num_envs": 8, "rollout_steps": 16, "total_env_steps": 12_800,
    "num_threads": 1, "policy": {"hidden_sizes": [16]},
}  # fmt: skip
MEMORY = {
    "env": "cart_pole_no_velocity", "ppo": {"num_minibatches": 2},
    "policy": {"hidden_sizes": [16], "memory": {"kind": "lstm", "size": 8, "horizon": 8}},
}  # fmt: skip
VARIANTS: dict[str, dict[str, Any]] = {
    "ppo": {**SMALL, "normalization": {"obs": True, "reward": True}},
    "memory": {**SMALL, **MEMORY},
    "pqn": {**SMALL, "algorithm": "pqn"},
    "agents": {**SMALL, "env": "marine_nav"},
}


class After:
    """Enough others are done after so many of this one's looks at them."""

    def __init__(self, looks: int) -> None:
        self.looks = self._left = looks

    def begin(self) -> None:
        self._left = self.looks

    def end(self) -> None:
        pass

    @property
    def enough_are_done(self) -> bool:
        self._left -= 1
        return self._left < 0


class Hurried(ProcessGroup):
    """As one of several ranks that is waited for."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.stragglers: Any = After(looks)


def made(variant: str, looks: int) -> Any:
    config = make_config(VARIANTS[variant])
    return build.processor_experiment(config, Threads(1), Hurried(looks))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_rollout_that_is_cut_has_the_first_steps_of_a_whole_one_and_goes_on_with_the_next(
    variant,
):
    whole, cut = made(variant, 99), made(variant, 3)
    first, part = whole.collect(), cut.collect()
    steps = 4 + 3  # a quarter of 16 is the first that is looked after, and then three more
    for name in ("obs", "actions", "rewards", "terminated", "log_probs"):
        one, other = getattr(first, name), getattr(part, name)
        assert torch.equal(one[:steps], other[:steps]), name
    valid = first.valid
    assert valid.all() or variant == "agents"
    assert torch.equal(part.valid[:steps], valid[:steps])
    assert not part.valid[steps:].any()
    assert torch.equal(part.obs[-1], first.obs[steps])
    goes_on = valid[steps - 1] & ~first.dones[steps - 1]
    assert goes_on.any()
    assert torch.equal(part.truncated[steps - 1], first.truncated[steps - 1] | goes_on)
    assert torch.equal(part.final_obs[steps - 1][goes_on], first.obs[steps][goes_on])
    if variant == "memory":  # what an action is worth where the rollout goes on
        values = first.values[steps][goes_on]
        assert torch.allclose(part.next_values[steps - 1][goes_on], values, atol=1e-6)
    assert torch.equal(cut.collect().obs[0], first.obs[steps])
    whole.close(), cut.close()


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_was_not_done_is_neither_learned_from_nor_counted(variant):
    experiment = made(variant, 0)
    for _ in range(2):
        list(experiment.iterate(Stopwatch(), wait=True))
        rollout = experiment.collector.rollout
        done = int(rollout.valid.sum())
        assert 0 < done <= 4 * rollout.rewards.shape[1]
    if variant != "agents":
        assert experiment.env_steps == 2 * 4 * 8
    # What stands where nothing was done changes nothing.
    one, other = (made(variant, 0) for _ in range(2))
    for each, rubbish in ((one, 0.0), (other, 7.0)):
        rollout = each.collect()
        rollout.rewards[4:] = rubbish
        rollout.obs[5:-1] = rubbish
        each.algorithm.update(rollout, 0.0)
    same = torch.equal(one.policy.flat_parameters, other.policy.flat_parameters)
    assert same
    for each in (experiment, one, other):
        each.close()


@given(st.integers(1, 10_000))
def test_enough_are_three_fifths(world_size):
    enough = num_enough(world_size)
    assert 5 * enough >= 3 * world_size > 5 * (enough - 1)


def test_a_rank_learns_that_most_are_done_and_of_each_rollout_anew():
    first: Any = distributed.TCPStore("127.0.0.1", 0, 3, True, wait_for_workers=False)
    ranks = [Stragglers(first.clone(), 3) for _ in range(3)]
    for _ in range(3):
        for rank in ranks:
            rank.begin()
            assert not rank.enough_are_done
        ranks[0].end()
        ranks[1].end()
        wait_for(lambda: ranks[2].enough_are_done)
        ranks[2].end()
    for rank in ranks:
        rank.close()
