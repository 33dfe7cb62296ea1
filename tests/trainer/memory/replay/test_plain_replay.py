"""Transitions that were written, overwritten and drawn, against a replay in plain Python."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_replay import PlainReplay
from replay_checks import Stream, in_order, make_replay
from torch.testing import assert_close

from operant.trainer.memory.replay import Batch, Priorities, Replay


def assert_same_rows(replay: Replay, plain: PlainReplay, batch: Batch) -> set[tuple[int, int]]:
    """All that was drawn is what the plain replay has; returns which that was."""
    expected = plain.rows()
    if not expected:
        assert (batch.weights == 0).all()
        return set()
    by_obs = {tuple(row["obs"].tolist()): key for key, row in expected.items()}
    keys = [by_obs[tuple(obs)] for obs in batch.obs.tolist()]
    rows = [expected[key] for key in keys]
    assert batch.actions.tolist() == [row["actions"] for row in rows]
    for name in ("returns", "discounts"):
        wanted = torch.tensor([row[name] for row in rows], dtype=torch.float32)
        assert_close(getattr(batch, name), wanted, rtol=1e-6, atol=1e-6)
    # What comes after the end of the task counts for nothing.
    next_obs = torch.stack([row["next_obs"] for row in rows])
    goes_on = batch.discounts > 0
    assert torch.equal(batch.next_obs[goes_on], next_obs[goes_on])
    num_slots = replay.layout.num_slots
    assert batch.index.tolist() == [
        number % num_slots * plain.num_envs + env for number, env in keys
    ]
    assert (batch.weights > 0).all()
    return set(keys)


@dataclass(frozen=True)
class Case:
    num_envs: int
    num_steps: int
    n_step: int
    max_episode_steps: int | None
    is_prioritised: bool
    with_kernels: bool
    lengths: tuple[int, ...]
    share: float
    seed: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    num_steps = draw(st.integers(1, 12))
    return Case(
        num_envs=draw(st.integers(1, 3)),
        num_steps=num_steps,
        n_step=draw(st.integers(1, min(4, num_steps))),
        max_episode_steps=draw(st.sampled_from([None, 1, 5, 100])),  # 5 and 100 are not true
        is_prioritised=draw(st.booleans()),
        with_kernels=draw(st.booleans()),
        lengths=tuple(draw(st.lists(st.integers(1, num_steps), min_size=1, max_size=8))),
        share=draw(st.sampled_from([0.0, 0.1, 0.5])),
        seed=draw(st.integers(0, 99)),
    )


@given(case=cases())
@settings(max_examples=40)  # 0.1 s each
def test_every_batch_is_what_a_plain_replay_has(case):
    stream = Stream(case.num_envs, case.seed)
    replay = make_replay(
        case.num_envs * case.num_steps,
        case.num_envs,
        n_step=case.n_step,
        gamma=0.9,
        priorities=Priorities() if case.is_prioritised else None,
        max_episode_steps=case.max_episode_steps,
        with_kernels=case.with_kernels,
    )
    plain = PlainReplay(case.num_envs, case.num_steps, replay.layout.num_finals, case.n_step, 0.9)
    batch = replay.make_batch(200)
    for number, length in enumerate(case.lengths):
        rollout = stream.rollout(length, case.share, case.share, case.share)
        replay.write(in_order(rollout) if number % 2 else rollout)
        plain.write(rollout)
        drawn = assert_same_rows(replay, plain, replay.sample(batch))
        # Of 36 rows, the most there are, 200 draws miss 36 * (35/36)^200 = 0.13 in the mean.
        assert len(drawn) >= 0.8 * len(plain.rows())
        if case.is_prioritised:
            replay.update_priorities(batch.index, torch.rand(200))
            assert_same_rows(replay, plain, replay.sample(batch))
    assert len(replay) == case.num_envs * min(case.num_steps, sum(case.lengths))
