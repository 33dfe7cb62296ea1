"""Stacks of frames: each frame is kept once, and what is drawn is the same bit for bit."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from replay_checks import FRAME, StackedStream, in_order

from operant.trainer.memory.replay import Batch, Layout, Priorities, Replay

MASK = 2
BYTES = {"obs_dtype": torch.uint8}


def make(stack: int, mask_size: int, num_steps: int = 11, kept: int = 1, **how: Any) -> Replay:
    """A replay of two environments that is set to stack `kept` frames."""
    size = stack * FRAME + mask_size
    settings = {"seed": 1, "stack": kept, "mask_size": mask_size, **BYTES, **how}
    return Replay(2 * num_steps, 2, size, (), torch.int64, **settings)


def assert_same(batch: Batch, other: Batch) -> None:
    for field in fields(batch)[:7]:
        assert torch.equal(getattr(batch, field.name), getattr(other, field.name)), field.name


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"priorities": Priorities()}], ids=["uniform", "by_error"])
@pytest.mark.parametrize("with_kernels", [False, True], ids=["loops", "kernels"])
@pytest.mark.parametrize(
    ("n_step", "stack", "mask_size", "finals"),
    [(1, 4, 0, None), (3, 4, MASK, None), (3, 2, 0, 8), (1, 7, MASK, 8)],
)
def test_draws_equal_those_of_whole_stacks(n_step, stack, mask_size, finals, with_kernels, how):
    # With a `finals` the ring has room for two final observations, and others are lost.
    how = {**how, "n_step": n_step, "max_episode_steps": finals, "with_kernels": with_kernels}
    whole, once = (make(stack, mask_size, kept=kept, **how) for kept in (1, stack))
    assert once.layout.kept_size == FRAME + mask_size
    assert once.layout.num_finals == whole.layout.num_finals
    stream = StackedStream(2, stack, mask_size)
    batches = [replay.make_batch(64) for replay in (whole, once)]
    written = 0
    for number, steps in enumerate([2, 1, 3, 11, 1, 5, 7, 11, 2]):  # over the ring's end four times
        dies = 0.1 if number % 2 else 0.0
        rollout = stream.rollout(steps, 0.15, 0.15, dies)
        rollout = in_order(rollout) if number % 3 else rollout
        for replay, batch in zip((whole, once), batches, strict=True):
            replay.write(rollout)
            if number == 5:
                replay.end_episodes()
            replay.sample(batch, 0.5)
            replay.update_priorities(batch.index, batch.returns)
        assert_same(*batches)
        written += steps
        if number == 5:  # the environments begin anew
            stream.begin(torch.ones(2, dtype=torch.bool))
            for replay, batch in zip((whole, once), batches, strict=True):
                replay.end_episodes()
                replay.sample(batch, 0.5)
            assert_same(*batches)
    assert written > 3 * 11


def test_a_checkpoint_goes_on_with_the_same_draws(tmp_path):
    stream = StackedStream(2, 4)
    replay = make(4, 0, kept=4)
    for _ in range(9):  # over the ring's end
        replay.write(stream.rollout(4, 0.1, 0.1, 0))
    torch.save(replay.state_dict(), tmp_path / "replay.pt")
    resumed = make(4, 0, kept=4)
    resumed.write(StackedStream(2, 4, seed=5).rollout(11))  # which all goes
    resumed.load_state_dict(torch.load(tmp_path / "replay.pt", weights_only=True))
    for _ in range(3):
        rollout = stream.rollout(3, 0.1, 0.1, 0)
        for each in (replay, resumed):
            each.write(rollout)
        batches = [each.sample(each.make_batch(64)) for each in (replay, resumed)]
        assert_same(*batches)
    with pytest.raises(ValueError, match="another shape"):
        make(4, 0).load_state_dict(replay.state_dict())


def test_a_million_steps_of_atari_take_less_than_seven_and_a_half_gigabytes():
    layout = Layout(1_000_000, 8, 4 * 84 * 84, stack=4, is_prioritised=True, **BYTES)
    assert 7_056_000_000 < layout.needed_bytes < 7_500_000_000
