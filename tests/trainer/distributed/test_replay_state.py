"""The replays of several ranks together have the state of one process's replay."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import torch
from replay_checks import FRAME, StackedStream

from operant.trainer.distributed.process_group import LOCAL, DistributedGroup
from operant.trainer.distributed.replay_state import own_state, rank_seed, state_of_all
from operant.trainer.distributed.split import shares
from operant.trainer.memory.replay import Priorities, Replay

NUM_ENVS, MASK = 3, 2
OF_ENVS = ("obs", "actions", "rewards", "terminated", "truncated", "final_obs")


class Together:
    """Adds up what two threads bring."""

    def __init__(self) -> None:
        self._barrier, self._brought = threading.Barrier(2, timeout=60), [torch.zeros(0)] * 2

    def all_reduce(self, rank: int, tensor: torch.Tensor) -> None:
        self._brought[rank] = tensor.clone()
        self._barrier.wait()
        found = sum(self._brought)
        self._barrier.wait()
        tensor.copy_(found)


def make(num_envs: int, seed: int, alpha: float) -> Replay:
    return Replay(
        11 * num_envs, num_envs, 4 * FRAME + MASK, (), torch.int64, seed=seed, stack=4,
        mask_size=MASK, n_step=3, obs_dtype=torch.uint8,
        priorities=Priorities(alpha) if alpha else None,
    )  # fmt: skip


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_ranks_save_the_replay_that_one_process_would_and_go_on_with_it(alpha):
    stream = StackedStream(NUM_ENVS, 4, MASK)
    rollouts = [stream.rollout(steps, 0.15, 0.15, 0) for steps in (4, 9, 7, 2)]
    alone, together = make(NUM_ENVS, 1, alpha), Together()
    for rollout in rollouts:
        alone.write(rollout)
    expected = alone.state_dict()
    parts = shares("2:1", NUM_ENVS, 2)

    def of_rank(rank: int) -> Any:
        ranks = DistributedGroup(rank, parts, lambda x: together.all_reduce(rank, x))
        own = parts[rank].first_env, parts[rank].num_envs
        replay, resumed = (make(own[1], rank_seed(ranks, 1), alpha) for _ in range(2))
        for rollout in rollouts:
            replay.write(
                replace(rollout, **{
                    name: getattr(rollout, name).narrow(1, *own).contiguous() for name in OF_ENVS
                })
            )  # fmt: skip
        saved = {name: x.clone() for name, x in state_of_all(ranks, replay.state_dict()).items()}
        resumed.load_state_dict(own_state(ranks, saved))
        batches = [each.sample(each.make_batch(64)) for each in (replay, resumed)]
        return saved, batches

    with ThreadPoolExecutor(2) as threads:
        of_ranks = list(threads.map(of_rank, range(2)))
    for saved, (drawn, drawn_again) in of_ranks:
        assert saved.keys() == expected.keys()
        assert all(torch.equal(saved[name], x) for name, x in expected.items())
        for name in ("obs", "actions", "next_obs", "returns", "discounts", "weights"):
            assert torch.equal(getattr(drawn, name), getattr(drawn_again, name))
    first, second = (batches[0] for _, batches in of_ranks)
    assert not torch.equal(first.returns, second.returns)


def test_one_process_saves_its_replay_as_it_is():
    state = make(NUM_ENVS, 1, 0.6).state_dict()
    assert state_of_all(LOCAL, state) is state
    assert own_state(LOCAL, state) is state
    assert rank_seed(LOCAL, 7) == 7
